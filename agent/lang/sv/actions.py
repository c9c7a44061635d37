"""Which Swedish words ask for an action, and which say that it is not wanted."""

from ..language import Acting, Keywords, words

ACTING = Acting(
    keywords=Keywords(
        schedule_callback=("ring mig", "ring upp"),
        send_sms=("sms", "sms:a"),
        create_ticket=("skapa ärende", "skapa ett ärende", "öppna ärende", "öppna ett ärende"),
    ),
    negators=words("inte ej aldrig sluta slipp slippa undvik"),
    excluders=words("utan ingen inget inga"),
    fillers=words("mer fler flera något några ett en mail samtal mejl eller och"),
    late_negators=words("inte ej aldrig"),
    followers=words("mig upp oss absolut verkligen helst snälla någonsin"),
    asking=words("varför"),
    new_start=words("men så och snälla utan istället"),
    carries_on=words("eller och"),
    clock=words("kl klockan"),
)
