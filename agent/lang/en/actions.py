"""Which English words ask for an action, and which say that it is not wanted."""

from ..language import Acting, Keywords, words

ACTING = Acting(
    keywords=Keywords(
        schedule_callback=("call me", "call person", "call back"),
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
)
