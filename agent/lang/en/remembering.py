"""English phrases that ask for something to be remembered."""

from ..language import words
from ..remembering import Remembering

REMEMBERING = Remembering(
    openers=(
        r"and|but|so|also|then|well|ok|okay|yes|yeah|no|right|sure|great|good|fine|thanks|thank you|thanks a lot"
        r"|hi|hello|hey|hi there|please|actually|by the way|btw|anyway|oh|sorry|note that|fyi|for your information"
        r"|honestly|frankly|personally|basically|generally|usually|obviously|again|look|listen|ah|hm+|anyways|thing is"
        r"|just so you know|in fact|to be clear|correction|i meant|i mean|unfortunately|luckily|finally|today|yesterday"
    ),
    when=r"after|before|during|last|this|in|on|at|since",
    joining=r"and|but|so",
    requesting=(
        r"(?:can|could|will|would) you(?: please)?|i(?:'d like| would like| want| need) you to"
        r"|i'd appreciate it if you(?: could| would)?"
    ),
    telling=(
        r"(?:rem\w{0,4}ber|don't forget|do not forget|never forget|note to self"
        r"|for (?:future|your) reference|keep in mind|bear in mind|(?:make|take) (?:a )?note"
        r"|note down|write down|memori[sz]e|(?:add|save)(?: this| it)? (?:to|in) (?:your )?(?:memory|notes))"
        r"(?: (?:for|from|in|of) (?:\w+ ){0,3}\w+)??"
        r"(?:,? that\b|(?: (?:this|the following))?:(?=\s)|(?=,?\s+(?:my|our|i|im|i'm|i've|we|we're|we've)\b))"
    ),
    kept=r"(?:please )?(?:(?:remember|note|save|don't forget) (?:that|this|it)|keep (?:that|this|it) in mind)",
    recalling=r"time|day|night|evening|morning|summer|one|movie|film|song|guy|place|trip|feeling|moment|when",
    henceforth=(
        r"from now on|from today on|from today onwards?|going forward|henceforth|in (?:the )?future"
        r"|as of (?:now|today)|as a (?:general |strict )?rule(?=,? (?:i|we)\b)"
    ),
    conditional=r"when|if|before|after|once|as soon as",
    commanding=r"you (?:must|shall|are to)",
    lasting_order=(
        r"call me (?!(?:back|again|later|if|when|at|on|in|a|an|the|about|before|after|by|to|as|and|or|for|tomorrow"
        r"|today|now|please|this|next|tonight|asap)\b)[^\W\d]\w+|stop \w{3,}ing\b|(?:do not|don't|never) ever \w+"
        r"|no [\w ]{1,40},? ever\b"
    ),
    defining=r"when(?:ever)? (?:i|we) (?:say|write|mention|talk about) [^.;:]{1,60}?(?:i|we)(?: \w+)? mean\b",
    whenever=r"(?:whenever|every time|each time)(?: that)? (?:i|we|you|someone|somebody)\b",
    standing=r"always|never",
    ordering=words(
        "add address allow answer apologise apologize ask assume avoid begin bill book bring call cancel change "
        "charge check choose cite close comment compare compute confirm consider contact convert copy count "
        "create define delete deliver describe do draft email end ensure exclude explain express forget format "
        "forward generate get give greet group guess handle highlight hold ignore include keep leave let list "
        "look mail make mention message name notify offer open order pack pay pick place prefer prepare print "
        "produce propose provide put quote read recommend refer remind remove repeat replace reply report respond "
        "return ring round save say schedule send separate set share ship show sign sort speak spell start state "
        "stick store suggest summarise summarize switch take talk tell text translate treat try turn update use "
        "verify wait warn work write"
    ),
    preferring=r"(?:i|we)(?: (?:really|always|usually|generally|much|strongly|still|now|both|all))* prefer",
    liking=(
        r"(?:i|we)(?: (?:really|absolutely|just|also|still|both|all|truly|do))*"
        r" (?:like|love|hate|dislike|enjoy|detest|loathe|adore|can't stand|cannot stand"
        r"|(?:don't|do not)(?: really)? like)"
    ),
    habits=r"it when you|when you",
    favourite=r"fav(?:ou?rite)?s?",
    rather=r"to|over|rather than|instead of|than",
    deciding=(
        r"(?:i|we|we all|(?:the )?\w+ and i)(?:(?:'ve| have)?"
        r"(?: (?:just|now|finally|also|both|all|already|today))*"
        r" (?:made the decision|made up (?:my|our) minds?|decided|agreed|settled on|opted for|chose|chosen)"
        r"(?: (?:yesterday|today|earlier|now|together|this \w+|last \w+))?"
        r"|(?:'re| are|'m| am) going with)|(?:it's|it is|that's|that is|so it's)(?: now)? (?:settled|decided)"
    ),
    linking=r"to|that|on|upon|in favour of|in favor of|for",
    topic=r"for|as",
    intending=(
        r"(?:i|we)(?: (?:still|also|really|just|now|definitely))*(?:'ll| will| need to| have to|'ve got to| have got to"
        r"| must|'m going to|'re going to| am going to| are going to| want to| plan to| intend to"
        r"| promised(?: \w+){0,2} to| gotta)"
    ),
    obliging=(
        r"(?:(?:i|we)(?: (?:still|also|really|just|now|definitely))*(?: need to| have to|'ve got to| have got to| must"
        r"| gotta| promised(?: \w+){0,2} to)|gotta|(?:still )?(?:need|have) to|remind me (?:to|that|about))"
    ),
    obliged=r"(?:still )?(?:must|has to|have to|needs to|need to|should) be",
    living=(
        r"(?:i|we)(?: (?:currently|now|still|also|both|mostly))*"
        r" (?:(?:live|work|study) (?:from|as|at|for|in|near)|(?:own|drive|speak|teach)(?: an?)?"
        r"|(?:was|were) born (?:in|on|near))(?= \w)"
    ),
    being=(
        r"(?:i|we)(?: (?:don't|do not|never|can't|cannot|no longer))(?: (?:ever|even|really))* (?:eat|drink|smoke)"
        r"|(?:i'm|i am|im|we're|we are)(?: (?:also|both|severely|very|badly|slightly))*"
        r" (?:allergic to|intolerant|vegans?|vegetarians?|diabetic|\d{1,3} years old"
        r"|colou?r[- ]?blind|\w+[- ]intolerant|left-handed|dyslexic"
        r"|(?=an? (?!(?:bit|little|lot|tad|huge|big|real|complete|total|fan)\b)\w{3,}))"
    ),
    measuring=r"i(?: (?:currently|now|only))* (?:weigh|earn|measure)",
    mine=words("my our"),
    one=frozenset({"my", "our", "is", "is called", "is named"}),
    yours=words("you you're you've your their his her its"),
    equals=r"is called|are called|is named|is|are|=",
    has=r"has|have|costs|takes",
    nearly=(
        r"about|around|roughly|approximately|approx\.?|exactly|only|just|now|currently|still|always|usually|normally|"
        r"over|under|almost|nearly|on|at|from|the|a|an|up to|at least|at most|more than|less than|between"
    ),
    behind=(
        r"a|an|per|each|every|in|on|at|for|from|since|until|till|to|and|or|this|next|of|with|without|including|"
        r"excluding|incl|excl|plus|before|after|but|so|because|as|by|if|when|which|not|now|instead|again|only|total"
        r"|exactly|old"
    ),
    talk=words(
        "question questions problem issue point guess answer request message concern understanding only"
    ),
    choices=words("option options version versions alternative alternatives suggestion draft paragraph"),
    deadline=r"(?:the )?(?:new )?deadline for",
    until=r"by|before|no later than|not later than|at the latest by",
    lasting=r"until|till|since|wait|for \d",
    seeking=words("say admit agree go leave work wait know hear ask understand see find learn check be get"),
    done=(
        r"(?:is|are|'s|has been|have been|was|were)(?: (?:now|finally|all|already|also|completely))*"
        r" (?:done|finished|completed|complete|taken care of|sorted)"
    ),
    done_with=(
        r"(?:i|we)(?:(?:'ve| have)(?: (?:now|finally|just|already|also))* (?:finished|completed|done|dealt with)"
        r"|(?: (?:finally|just))? (?:finished|completed)"
        r"|(?:'m| am|'re| are)(?: (?:now|finally|all))* (?:done|finished) with)"
        r"|(?:you can(?: now)? )?(?:cross|tick|check) off"
    ),
    all_done=(
        r"(?:(?:it|that|this)(?:'s| is| has been|'s been)(?: (?:now|finally|all|already|also))* )?(?:all )?"
        r"(?:done|finished|completed|taken care of|sorted)(?: now| already)?"
        r"|i(?:'ve| have)(?: (?:now|already|just))* (?:done|finished|completed) (?:it|that|this)(?: now| already)?"
        r"|i (?:just )?did (?:it|that)(?: now| already)?"
    ),
    no=r"not|never|no|none|nothing|nobody|neither|nor|without|\w+n't|dont|doesnt|didnt|isnt|wont|cant|cannot",
    but=r"but|rather|it's",
    denied={"is not": "is", "isn't": "is", "are not": "are", "aren't": "are"},
    joking=r"lol|lmao|rofl|(?:ha){2,}h?|(?:he){2,}|just kidding|only joking|jk",
    supposing=(
        r"if|unless|whether|suppose|supposing|assume|assuming|imagine|pretend|hypothetically|let's say|in case|maybe"
        r"|perhaps|possibly|probably|might|i may|we may|it may|could|would|should|i'd|we'd|wish|hope|not sure|almost"
        r"|as if|as though"
    ),
    imagining=(
        r"(?:let's |let us |just )?(?:suppose|imagine|assume|pretend|say)\b|hypothetically|what if|for example"
        r"|for instance|in (?:a|the) (?:story|novel|game|scenario)|write|translate|rewrite|rephrase|summarise"
        r"|summarize|proofread"
    ),
    saying=(
        r"said|says|say|saying|told|tells|wrote|writes|written|claims?|claimed|according to|mentioned|states?|stated|"
        r"asked|asks|thinks?|thought|believes?|believed|heard|reads?|translate|quote|quoted|reported|suggested"
    ),
    idea=(
        r"(?:(?:i|we)(?:'ve| have)?(?: just)? (?:have|had|got|came up with)|here(?:'s| is)|this is|(?:just )?(?:had"
        r"|got))"
        r" (?:an?|another|one more|my|one)(?: \w+)? (?:idea|suggestion)(?: (?:for|about) [^:,.;!?]{1,40}?)?\s*[:,–-]"
        r"|(?:(?:my|one|another|an?|new) )?(?:idea|suggestion)(?: (?:for|about) [^:,.;!?]{1,40}?)?\s*:"
    ),
    suggesting=(
        r"(?:my|one|another|an?)(?: \w+)? (?:idea|suggestion) (?:is|was|would be) (?:that|to)"
        r"|(?:maybe|perhaps) we (?:should|ought to)|we should (?:maybe|perhaps)|i (?:suggest|propose)(?: that)? we"
        r"|(?:it|that) (?:may|might|could) be worth(?: a try)?(?= (?:\w+ing|to)\b)"
        r"|(?:a|one|another)(?: \w+)? (?:feature|improvement|addition) would be"
    ),
    lesson=(
        r"(?:(?:the|my|our|a|another|one)(?: \w+)? )?lessons?(?: (?:i|we)(?:'ve| have)?)?(?: |-)learn(?:ed|t)"
        r"(?: (?:from|here|this|today)[^:,.;!?]{0,40}?)?\s*:|(?:note )?for next time\s*:"
    ),
    learning=(
        r"(?:the|my|our|a|another|one)(?: \w+){0,2} lesson(?: (?:i|we) learn(?:ed|t))?(?: here)? (?:is|was) (?:that"
        r"|to|not to)"
        r"|(?:i|we)(?:(?:'ve| have)(?: (?:now|also|since))*)? learn(?:ed|t)(?: the hard way)?"
        r" (?:that|(?:not|never) to|to (?:always|never))"
        r"|(?:i|we)(?:'ve| have)? learn(?:ed|t) the hard way(?: that)?"
        r"|next time,? (?:i|we) (?:should|must|have to|need to)"
    ),
    happened=(
        r"broke(?: (?:down|out))?|crashed|failed|stopped|started|began|ended(?! up)|opened|closed|reopened|moved"
        r"|arrived"
        r"|launched|burst|leaked|flooded|exploded|collapsed|died|passed away|caught fire|burn(?:ed|t) down"
        r"|went (?:down|live|offline|bankrupt|up in flames)|took place|fell (?:off|down|through|over|ill)|resigned"
        r"|retired|quit|graduated|joined|signed|released|shipped|published|won|merged|deployed|migrated|upgraded"
        r"|hired|fired|installed|replaced|repaired|renewed"
        r"|(?:was|were|got)(?: (?:just|finally|suddenly|also|officially))* (?:born|stolen|broken|sold|shut down|cut off"
        r"|cancell?ed|launched|released|delivered|closed|opened|signed|approved|rejected|hired|fired|promoted|postponed"
        r"|moved|damaged|repaired|replaced|installed|shipped|published|elected|merged|migrated|upgraded|announced"
        r"|completed|delayed|hacked|robbed|injured|renewed|terminated|evacuated|married|engaged|divorced)"
    ),
    happening=(
        r"(?:(?:will|is going to|are going to|am going to|'s going to|'re going to|'m going to) )?(?:starts?|begins?"
        r"|ends?|opens?|closes?|reopens?|launch(?:es)?|moves?|arrives?|leaves?|retires?|resumes?|expires?|goes? live"
        r"|takes? place|comes? into force|shuts? down)"
        r"|(?:is|are|am|'s|'re|'m|will be|gets?)(?: being)? (?:starting|beginning|ending|opening|closing|launching"
        r"|moving"
        r"|arriving|leaving|coming|replacing|installing|retiring|getting married|cancell?ed|launched|released"
        r"|delivered|closed|opened|postponed|moved"
        r"|replaced|installed|shut down)"
    ),
    this_day=r"(?:earlier |late )?today|tonight|this (?:morning|afternoon|evening)",
    on_day=r"on|since|from|as of",
    day_part=r"morning|afternoon|evening|night|noon|midnight",
    unclear=words("let's it they he she there which who what everything something"),
    hints=words(
        "idea suggestion suggest propose maybe perhaps worth feature improvement addition lesson lessons learned "
        "learnt time today tonight morning afternoon evening"
    ),
)
