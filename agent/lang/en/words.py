"""English words: letters and function words, features of the language, and words without content in a question."""

from ..language import Filing, Orthography, QuestionPatterns, Recalling, Searching, Stating, Telling, words

_FUNCTION_WORDS = """
a about above across after again against all along also although am among an and another any anybody anyone
anything are aren't around as at be because been before being below between both but by can can't cannot could
couldn't did didn't do does doesn't doing don't done down during each either every everybody everyone everything
few for from further had hadn't has hasn't have haven't having he he'd he'll he's her here hers herself him
himself his how how's however i i'd i'll i'm i've if in into is isn't it it's its itself just let let's many may
me might mine more most much must my myself neither never no nobody none nor not nothing now of off often on once
only onto or other others ought our ours ourselves out over own per perhaps please rather same shall she she's
should shouldn't since so some somebody someone something still such than that that's the their theirs them
themselves then there there's these they they'd they'll they're they've this those though through till to too
toward towards under unless until up upon us very was wasn't we we'd we'll we're we've were weren't what what's
whatever when when's whenever where where's wherever whether which whichever while who who's whoever whole whom
whose why will with within without won't would wouldn't yet you you'd you'll you're you've your yours yourself
arent cant didnt doesnt dont hows im isnt ive theres whats wheres whos wont youre
"""

WRITING = Orthography(
    function_words=words(_FUNCTION_WORDS),
    letters="",
    abbreviations=words(
        "e.g i.e etc vs mr mrs ms dr prof st no nos approx incl excl max min fig vol pp ca cf dept est "
        "inc ltd co jr sr"
    ),
)

# Content words that English has and other languages have not, frequent in questions.
_FREQUENT = """
get got make need want know use work cost price best good way long phone number day year time people
history meaning average weather types type benefits definition difference find take vs cause causes
opening hours hello warranty shipping delivery refund return support customer service
plan plans parcel discount student lost cancel pause
"""

TELLING = Telling(
    words=words(_FREQUENT),
    endings=(
        r"ing|tion|tions|ies|ied|ly|ment|ments|ness|ity|ous|ful|less|able|ible|ive|ance|ence|ure|"
        r"age|ine|ate|ize|ers|ed|es|y|th|ck|gh|w"
    ),
    pairs=r"th|wh|[aeiou]w|w[aeiou]|ea|ou|oo|ee|ch(?![aeiou]?k)|ck$|sh|qu|x|z|ph|c[eio]|ai|ay|oa",
    marks="'",
)

_EMPTY = """
actually ask asking basically bit bring called case certain come comes currently detail details exactly example
explain extra far find first found general generally high higher low lower large larger big get gets getting
give gives go goes going got happen happens happening hello hey hi idea info information instead kind know known
last later least less like likely little long look looking lot lots make makes making maximum means minimum need
needed needs next normal normally nice ok okay one ones part particular place point possible possibly probably
question questions quick quickly quite really regarding right say saying says see seem show simply soon sort
start stuff sure take takes taking tell thank thanks time times thing things think today tomorrow tonight two
typical typically understand use used using usual usually various via want wanted wants way ways well wonder
wondering work works yes yesterday available happened allowed apply applies also soon anyway based
"""

SEARCHING = Searching(
    stemmer="english",
    empty_words=words(_EMPTY),
    asking=QuestionPatterns(
        number=(
            r"how (?:many|much|long|often|soon|old|big|large|late|early|far|high|low|fast|quickly|slow|slowly|deep"
            r"|wide|narrow|heavy|light|tall|thick|thin|steep|hot|warm|cold|strong|loud|close|near|few|little)"
            r"|(?:what|which)(?: is the| are the|'s the)? (?:year|month|day|date|percentage|percent|share|size|number"
            r"|age|price|cost|fee|rate|amount|sum|temperature|height|length|weight|width|depth|speed|distance|limit"
            r"|most|least|lowest|highest|smallest|largest|longest|shortest)"
            r"|(?:above|below|over|under|until|within|after|up to) (?:what|which)"
            r"|what (?:can|do|does|did|may|must|will|would|should) (?:\w+ ){1,2}(?:pay|spend|charge|cost|earn|owe)"
            r"|price|cost|costs|percentage|percent|minimum|maximum|limit|at most|at least"
        ),
        money=(
            r"costs?|prices?|pay|paid|charged?|fees?|money|spend|dollars?|euros?|salary|salaries|cheap|cheapest"
            r"|expensive"
        ),
        time=(
            r"how (?:long|often|soon|late|early|old|quickly)|^when|(?:since|until|till|from|by|and|or|know) when"
            r"|when (?:am|are|is|was|were|do|does|did|has|have|had|will|would|can|could|may|must|shall|should)"
            r"|(?:what|which) (?:time|hours|year|month|months|day|days|date|dates)"
        ),
        counted=r"how many",
        share=(
            r"share|percentage|percent|how much of"
            r"|(?:what|which|how (?:big|large) a) (?:part|portion|fraction|slice|cut)"
        ),
    ),
    joining=r"and|but|or|also|then|so|(?:what|how) about|what if|same (?:for|with)|which of",
    referring=words(
        "it its that this these those they them their one ones he she him her both former latter"
    ),
)

RECALLING = Recalling(
    asker=words("i me my mine myself i'm i've i'd i'll im ive"),
    agent=words("you your yours yourself you're you've you'd you'll"),
    requests=(
        r"(?:can|could|would|will|should|may|might) you(?: please)?|do you (?:remember|recall|know|think)|thank you"
        r"|(?:remind|tell|show|give|help|let) (?:me|us)"
    ),
    everything=(
        r"what (?:all |else )?(?:do|can) you (?:(?:remember|recall)(?: (?:about|of) (?:me|us))?|know about (?:me|us))"
        r"|what have (?:i|we) (?:ever |already )?told you(?: about (?:me|us|myself|ourselves))?"
        r"|(?:tell|show) me (?:what|everything|all(?: that)?) you (?:remember(?: about (?:me|us))?"
        r"|know about (?:me|us))"
        r"|what is (?:there )?in your memory(?: about (?:me|us))?|who am i"
    ),
    forgetting=(
        r"(?:please )?(?:(?:can|could|would|will) you (?:please )?)?(?:forget|stop remembering)"
        r" (?:that \w|what|who|where|about (?:my|me\b|our)|my|our|me\b|everything|all|i )[^.;:!?\n]*"
    ),
    times=words("recently lately since ago"),
    endings="",
    joints=(),
)

STATING = Stating(
    said_of_all=words(
        "cost costs price prices priced pay pays approximately around including include includes use used using "
        "take takes took make made need needs could given information provided based however"
    ),
    priced=words("price prices priced cost costs"),
    calendar=words(
        "monday tuesday wednesday thursday friday saturday sunday weekday weekdays weekend weekends daily day days "
        "week weeks month months year years today january february march april june july august september october "
        "november december"
    ),
    versions=r"versions?|release",
    parts=r"sections?|chapters?|parts?|steps?|topics?|pages?|figures?|tables?|appendix|articles?",
    examples=r"for (?:example|instance)|e\.g\.",
    at_most=r"less|fewer|most|max|maximum|below",
    at_least=r"more|least|min|minimum|above",
)

FILING = Filing(("title",), ("description", "summary"), ("lang", "language", "locale"))
