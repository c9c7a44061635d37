"""English words that ask for an action, and words that show that it is not wanted."""

from ..acting import Acting, Calling, Keywords, Mood
from ..language import words

ACTING = Acting(
    keywords=Keywords(
        schedule_callback=("call me", "call me back", "call person", "call back"),
        send_sms=("sms", "text me"),
        create_ticket=("ticket",),
    ),
    negators=words(
        "not never don't dont doesn't didn't won't wont can't cant cannot shouldn't mustn't needn't stop quit avoid"
    ),
    excluders=words("no without"),
    fillers=words("a an any more further such send sending calls call emails email mail or nor and"),
    late_negators=words("never"),
    followers=words("me us please ever"),
    asking=words("why"),
    new_start=words("but please so then instead mind and just"),
    carries_on=words("or nor and"),
    clock=words("at"),
    mood=Mood(
        speakers=words("i we i'm i'll i've i'd we're we'll we've we'd"),
        others=words(
            "you he she it they one someone somebody anyone anybody everyone everybody nobody people "
            "you'll you're you've you'd he's she's it's they'll they're they've who that's there"
        ),
        users=words("me us"),
        objects=words("them him her"),
        anyone=words("someone somebody anyone anybody"),
        modals=words("can could would will may might should must shall"),
        promising=words("will would shall might"),
        leave=words("can could may might"),
        wanting=words(
            "want need like love wish prefer request require hoping rather wondering appreciate grateful must ask "
            "asking hope"
        ),
        getting=words(
            "get have let tell receive ask request open create file raise submit make log start report order"
        ),
        asking=words("what how why who whom whose which when where what's how's who's where's"),
        inverting=words("do does did is are was were has had am isn't aren't doesn't"),
        stating=words(
            "sends gets opens creates makes receives costs takes has says tells sending getting receiving "
            "calls keeps does had"
        ),
        past=(
            r"\w{2,}[b-df-z]ed|was|were|did|had|got|bought|sent|said|told|made|took|gave|went|came|saw|found|paid|"
            r"wrote|spoke|heard|lost|left|rang|read|thought|knew|forgot|became|began|broke|kept|met|put|sold|chose|"
            r"felt|held|won|spent|understood|supposed|gotten|been"
        ),
        being=words(
            "is isn't was wasn't has hasn't had did didn't does doesn't will won't can can't cannot are were expired "
            "expires costs works"
        ),
        articles=words("a an another one some"),
        known=words("the my our your his her its their this that these those every each"),
        endings=r"'s",
        otherwise=words(
            "buy buying purchase purchasing book booking sell selling cancel close closing delete update change check "
            "lose find see show print scan refund pay paying reopen see read train bus plane flight concert parking "
            "speeding season lottery cinema movie"
        ),
        linking=words("to that if for it whether"),
        conditions=words("if when whenever whether unless until in"),
        proposing=words("about"),
        counting=words("many much few long far often"),
    ),
    calling=Calling(
        regions=("US", "GB"),
        dialling=words("call"),
        reaching=words("on at to via using dial"),
        phones=words("number phone telephone mobile cell cellphone tel landline"),
        labels=(
            r"(?:customer|client|order|invoice|account|case|ticket|reference|ref|membership|member|booking|"
            r"reservation|tracking|parcel|shipment|contract|policy|serial|bank|card|tax|vat|licen[cs]e|passport|"
            r"organi[sz]ation|org|company|registration|security|personal|identity|id|imei|ocr|iban|meter|product|"
            r"article|item|batch|transaction|receipt|amount|code|pin)s?"
        ),
        joining=words("number numbers no nos nr num id is are was the my our a with of called"),
        amounts=r"dollars?|usd|euros?|eur|pounds?|gbp|sek|percent|items|pieces|times|users|people",
        being=r"is|was|are",
        outdated=r"old|former|previous|wrong|instead of|rather than|other than|except|but not|no longer",
        lapsed=(
            r"(?:(?:is|was) (?:not|no longer|wrong|my (?:old|former|previous)|an? old|the (?:old|wrong))"
            r"|(?:isn't|wasn't|doesn't|won't|does not|no longer|used to be|any ?more))"
        ),
        origins=words("from"),
        addressed=words("your yours their his her"),
        corrections=words("sorry wait mean rather correction no actually oops"),
        saying=r"saying(?: that)?|that says|that|with the (?:text|message)|and (?:say|tell \w+)(?: that)?",
    ),
)
