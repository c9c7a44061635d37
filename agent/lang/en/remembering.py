"""How English says what is to be remembered."""

from ..language import words
from ..remembering import Remembering

REMEMBERING = Remembering(
    openers=(
        r"and|but|so|also|then|well|ok|okay|yes|yeah|no|right|sure|great|good|fine|thanks|thank you|thanks a lot"
        r"|hi|hello|hey|hi there|please|actually|by the way|btw|anyway|oh|sorry|note that|fyi|for your information"
        r"|just so you know|in fact|to be clear|correction|i meant|i mean|unfortunately|luckily|finally|today|yesterday"
    ),
    when=r"after|before|during|last|this|in|on|at|since",
    joining=r"and|but|so",
    telling=(
        r"(?:remember|don't forget|do not forget|never forget|keep in mind|bear in mind|make a note|take note)"
        r"(?:,? that\b|:(?=\s)|(?=,?\s+(?:my|our|i|i'm|i've|we|we're|we've)\b))"
    ),
    recalling=r"time|day|night|evening|morning|summer|one|movie|film|song|guy|place|trip|feeling|moment|when",
    henceforth=(
        r"from now on|from today on|from today onwards?|going forward|henceforth|in (?:the )?future"
        r"|as of (?:now|today)"
    ),
    standing=r"always|never",
    ordering=words(
        "add address allow answer ask assume avoid begin book bring bill call cancel change charge check choose cite "
        "close confirm consider contact convert copy count deliver describe do email end ensure exclude explain "
        "express forget format forward get give greet group handle hold ignore include keep leave let list "
        "look mail make mention message name "
        "notify offer open order pack pay pick place prefer prepare print put quote read refer "
        "remind remove repeat reply report respond return ring round save say schedule send separate set share ship "
        "show sign sort speak spell start state stick store summarise summarize switch take talk tell text translate "
        "treat try turn use verify wait warn work write"
    ),
    preferring=r"(?:i|we)(?: (?:really|always|usually|generally|much|strongly|still|now|both|all))* prefer",
    rather=r"to|over|rather than|instead of|than",
    deciding=(
        r"(?:i|we|we all|the (?:team|board|family) and i)(?:'ve| have)?"
        r"(?: (?:just|now|finally|also|both|all|already|today))*(?: made the decision| decided| agreed)"
    ),
    linking=r"to|that|on|upon|in favour of|in favor of|for",
    topic=r"for|as",
    intending=(
        r"(?:i|we)(?:'ll| will| need to| have to|'ve got to| have got to| must|'m going to|'re going to| am going to"
        r"| are going to| want to| plan to| intend to| promised to)"
    ),
    mine=words("my our"),
    yours=words("you you're you've your their his her its"),
    equals=r"is|are|=",
    has=r"has|have|costs|takes",
    nearly=(
        r"about|around|roughly|approximately|approx\.?|exactly|only|just|now|currently|still|always|usually|normally|"
        r"over|under|almost|nearly|on|at|from|the|a|an|up to|at least|at most|more than|less than|between"
    ),
    behind=(
        r"a|an|per|each|every|in|on|at|for|from|since|until|till|to|and|or|this|next|of|with|without|including|"
        r"excluding|incl|excl|plus|before|after|but|so|because|as|by|if|when|which|not|now|instead|again|only|total|exactly"
    ),
    talk=words(
        "question questions problem issue point guess answer request message concern understanding only"
    ),
    until=r"by|before|no later than|not later than|at the latest by",
    seeking=words("know hear ask understand see find learn check be get"),
    done=(
        r"(?:is|are|'s|has been|have been|was|were)(?: (?:now|finally|all|already|also|completely))*"
        r" (?:done|finished|completed|complete|taken care of|sorted)"
    ),
    done_with=(
        r"(?:i|we)(?:(?:'ve| have)(?: (?:now|finally|just|already|also))* (?:finished|completed|done|dealt with)"
        r"|(?: (?:finally|just))? (?:finished|completed)"
        r"|(?:'m| am|'re| are)(?: (?:now|finally|all))* (?:done|finished) with)"
    ),
    no=r"not|never|no|none|nothing|nobody|neither|nor|without|\w+n't|dont|doesnt|didnt|isnt|wont|cant|cannot",
    but=r"but|rather|it's",
    denied={"is not": "is", "isn't": "is", "are not": "are", "aren't": "are"},
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
)
