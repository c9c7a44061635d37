"""Questions in another language than the documents': what is found on them, and what is not.

Each is the question, the question before it ("" is none), and what one of the best statements holds, "" where nothing
is to be found. The first, the third and so on were looked at while the rule was made, the others only when it stood.
"""

from typing import Final

ENGLISH: Final = {
    "plans.md": """# Plans

## Basic

Basic costs 99 SEK a month and has one seat.

## Standard

Standard costs 299 SEK a month and has ten seats. The notice period is 30 days.

## Enterprise

Enterprise is priced by agreement. It includes SAML login and an SLA of 99.9 %.
""",
    "shipping.md": """# Shipping

Orders over 500 SEK ship free. PostNord delivers in 3 days, DHL Express the next day.

# Returns

You can return an item within 14 days. A return by PostNord costs 49 SEK.
""",
    "limits.md": """# API limits

The API takes 600 requests a minute. Error E4012 means that the key has expired.

# Devices

The Nimbus 400 weighs 1.2 kg and has a battery of 5000 mAh. The Nimbus 200 weighs 0.8 kg.
""",
    "company.md": """# Company

Northwind was founded in 2011 by Sara Lind. The office is in Malmö, on Storgatan 5.

# Support

Support answers on weekdays from 8 to 17. Write to help@northwind.example.
""",
}
SWEDISH: Final = {
    "abonnemang.md": """# Abonnemang

## Fiber 250

Fiber 250 kostar 349 kr i månaden. Bindningstiden är 12 månader.

## Fiber 1000

Fiber 1000 kostar 499 kr i månaden och levereras med routern Zyxel EX5601.
""",
    "felsokning.md": """# Felsökning

Blinkar lampan rött på Zyxel EX5601 startar du om routern. Felkod B17 betyder att signalen saknas.
""",
    "foretaget.md": """# Om Bredbandet

Bolaget grundades 1998 av Karin Ek och har kontor i Luleå. Kundtjänst har öppet 9 till 18.
""",
}

ABROAD: Final = (  # question, before, holds
    ("Vad kostar Standard?", "", "299"),
    ("och vad kostar det?", "Standard plan", "299"),
    ("vad kostar basic", "", "99 SEK"),
    ("Hur mycket kostar Basic per månad?", "", "99 SEK"),
    ("Vad väger Nimbus 400?", "", "1.2 kg"),
    ("Hur tung är Nimbus 200?", "", "0.8 kg"),
    ("Vad betyder felet E4012?", "", "E4012"),
    ("Vad betyder E4012?", "", "E4012"),
    ("När grundades Northwind?", "", "2011"),
    ("Vem grundade Northwind?", "", "Sara Lind"),
    ("Hur snabbt levererar PostNord?", "", "3 days"),
    ("Hur lång tid tar det med DHL Express?", "", "next day"),
    ("Hur lång uppsägningstid har Standard?", "", "30 days"),
    ("Hur många användare får jag med Standard?", "", "ten seats"),
    ("Ingår SAML i Enterprise?", "", "SAML"),
    ("Vilken SLA har Enterprise?", "", "99.9"),
    ("Vem är Sara Lind?", "", "Sara Lind"),
    ("Var på Storgatan ligger ni?", "", "Storgatan"),
    ("och vad kostar den?", "What is the Basic plan?", "99 SEK"),
    ("och hur mycket väger den?", "Nimbus 400 battery", "1.2 kg"),
    ("Hur många anrop tar API i minuten?", "", "600"),
    ("Vad kostar en retur med PostNord?", "", "49"),
    ("Vad kostar Premium?", "", ""),
    ("Vad kostar Gold?", "", ""),
    ("Vad är huvudstaden i Mongoliet?", "", ""),
    ("Hur högt är Mount Everest?", "", ""),
    ("Hur bakar jag surdegsbröd?", "", ""),
    ("Vilket år vann Brasilien VM i fotboll?", "", ""),
    ("Hur lagar jag en trasig cykel?", "", ""),
    ("Vem skrev Röda rummet?", "", ""),
    ("Vad betyder felet E9999?", "", ""),
    ("Vad väger Stratus 900?", "", ""),
)
HOME: Final = (
    ("What does Fiber 250 cost?", "", "349"),
    ("How much is Fiber 1000 a month?", "", "499"),
    ("and what does it cost?", "Fiber 1000", "499"),
    ("and the price?", "Fiber 250", "349"),
    ("What does error B17 mean?", "", "B17"),
    ("What is B17?", "", "B17"),
    ("Who is Karin Ek?", "", "Karin Ek"),
    ("When did Karin Ek start the company?", "", "1998"),
    ("Which router is the Zyxel EX5601?", "", "Zyxel"),
    ("The light on my Zyxel EX5601 is red", "", "Zyxel"),
    ("What does Fiber 500 cost?", "", ""),
    ("What does Fiber 2000 cost?", "", ""),
    ("What is the capital of Mongolia?", "", ""),
    ("Who won the world cup in 1998?", "", ""),
    ("How do I bake sourdough bread?", "", ""),
    ("How tall is Mount Everest?", "", ""),
)
