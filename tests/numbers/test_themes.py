"""The number rule by theme: what each kind of number supports, and what it does not."""

import pytest

from agent.grounding.verify import check_numbers, snippets_of

GOOD: dict[str, list[tuple[str, str]]] = {
    "footnotes": [
        ("It applies from 1 January 2026.[^12]", "It applies from 1 January 2026."),
        ("At least IP23[^4], and 16 A[^5].", "At least IP23 and 16 A [^1]."),
    ],
    "codes of a country": [
        ("SE556677889901", "VAT number SE 556677889901"),
        ("VAT number SE 556677889901", "SE556677889901"),
        ("SE556677889901", "SE 556677-8899 01"),
        ("SE45 5000 0000 0583 9825 7466", "SE 4550000000058398257466"),
    ],
    "ports": [
        ("It listens on http://localhost:8080/health", "port 8080"),
        ("It listens on http://localhost:8080/health", "localhost:8080"),
        ("http://[::1]:8080", "8080"),
    ],
    "thousands in short": [
        ("$3,000", "$3k"),
        ("$3k", "3,000 dollars"),
        ("3,000 dollars", "$3k"),
        ("$3,000 a month", "$3k/month"),
        ("$3k/mo", "$3,000 per month"),
        ("$3,000 to $5,000", "$3k-5k"),
        ("$3,000-$5,000", "$3k–$5k"),
        ("$3,000 and more", "$3k+"),
        ("£1,500", "1500 pounds sterling"),
    ],
    "headers that say what in": [
        ("| Paket | Pris i kr |\n|---|---|\n| Bas | 149 |", "Bas kostar 149 kr"),
        ("| Paket | Pris i kr per månad |\n|---|---|\n| Bas | 149 |", "Bas kostar 149 kr i månaden"),
        ("| Paket | Rabatt i procent |\n|---|---|\n| Bas | 15 |", "15 % rabatt"),
    ],
    "names of charges": [
        ("The monthly fee is 299 kr", "299 kr per month"),
        ("The fee is 299 kr per month", "The monthly fee is 299 kr"),
        ("Avgiften är 299 kr i månaden", "Månadsavgiften är 299 kr"),
        ("Priset per år är 2990 kr", "Det kostar 2990 kr om året"),
        ("The annual plan costs $9/month", "The annual plan is $9 per month"),
        ("The annual plan costs $9/month", "The annual plan is $9"),
        (
            "| | Basic | Pro |\n|---|---|---|\n| Price per month | $9 | $29 |\n| Price per year | $90 | $290 |",
            "Pro costs $290 per year",
        ),
        ("| | Basic | Pro |\n|---|---|---|\n| Månadsavgift (kr) | 9 | 29 |", "Pro kostar 29 kr per månad"),
        ("The monthly fee is $5 per user", "$5 per user per month"),
        ("The price is $5 per user. The monthly fee depends on it", "$5 per user"),
        ("Yearly payment gives 10 % off", "10 % off"),
        ("Rent: 900 EUR per month", "monthly rent of 900 EUR"),
        ("$40 per square foot", "$40 per sq ft"),
        ("Price | SEK\nBasic | 99", "Basic 99 SEK"),
        ("<table><tr><th>Plan</th><th>Price (kr)</th></tr><tr><td>A</td><td>149</td></tr></table>", "149"),
        ("Paket  Pris (kr)\n=====  =====\nBas    149", "Bas kostar 149"),
    ],
    "rates": [
        ("Paketet kostar 299 kr per månad", "Paketet kostar 299 kr i månaden"),
        ("Paketet kostar 299 kr per månad", "Det kostar 299 kr varje månad"),
        ("Paketet kostar 299 kr per månad", "299 kr månadsvis"),
        ("It costs $9 a month", "It costs $9/month"),
        ("It costs $9 per user per month", "It costs $9 per user/month"),
        ("It costs $9 per user per month", "$9 per month for each user"),
        ("It costs $9 per user per month", "$9 per user"),
        ("100 requests per minute", "100 requests/minute"),
        ("100 requests per minute", "up to 100 requests a minute"),
        ("3 times a week", "three times per week"),
        ("10 GB/day", "10 GB per day"),
        ("Pris 45 kr/kg", "45 kr per kilo"),
        ("Pris 45 kr/kg", "45 kr kilot"),
        ("1200 kr/natt", "1200 kr per natt"),
        ("$99 per year", "$99 annually"),
        ("$99 per year", "$99 yearly"),
        ("$99/yr", "$99 per year"),
        ("$99 p.a.", "$99 per year"),
        ("Weight 2.10 kg", "Weight 2.1 kg"),
        ("Price 2.10", "The price is 2.1"),
        ("Konsult 900 kr i timmen", "900 kr/h"),
        ("Rates are 3.5 % per year", "3.5 % a year"),
        ("Bindningstid 12 månader, 299 kr/mån", "299 kr per månad i 12 månader"),
        ("299 kr per month for 12 months", "299 kr per month, 12 months"),
        ("299 kr for 3 months", "299 kr for 3 months"),
        ("5 days a week", "five days per week"),
        ("Open 24 hours a day", "open 24 hours per day"),
        ("Fee: 2 % of the price per month", "2 % per month"),
        ("800 kr exkl. moms per månad", "800 kr per månad"),
        ("Salary of $49,400 per year", "$49,400 a year"),
        ("50 kr styck", "50 kr per styck"),
        ("50 kr/st", "50 kr styck"),
        ("1 000 kr per person och natt", "1 000 kr per person och natt"),
        ("1 000 kr per person och natt", "1 000 kr per natt"),
    ],
    "multipliers": [
        ("Cost is $6 to $7 billion", "between $6 billion and $7 billion"),
        ("It takes 2 to 3 million years", "2-3 million years"),
        ("$1.5m in revenue", "$1.5 million in revenue"),
        ("£50m", "£50 million"),
        ("$2bn", "$2 billion"),
        ("It costs $5000", "5 grand"),
    ],
    "times and ranges": [
        ("Open 10.00-18.00", "Open 10-18"),
        ("Öppet 10.00-18.00", "Vi har öppet 10-18"),
        ("Öppet 10.00–18.00", "Öppet mellan 10 och 18"),
        ("half an hour to an hour", "half an hour to an hour"),
        ("3 to 5 days", "3 until 5 days"),
        ("9 until 17", "9-17"),
        ("a quarter to a half", "a quarter to a half"),
        ("1/4 to 1/2 mile", "a quarter to a half mile"),
        ("Opens at 09:00 CET", "Opens at 09:00"),
        ("Opens at 09:00 CET", "Opens at 09:00 CET"),
        ("Öppet 7 dagar i veckan", "öppet sju dagar i veckan"),
    ],
    "long numbers": [
        ("Org.nr 556036-0793", "5560360793"),
        ("Swish 123 456 78 90", "Swish 1234567890"),
        ("IBAN SE45 5000 0000 0583 9825 7466", "SE4550000000058398257466"),
        ("EAN 7310865004703", "7310865-004703"),
        ("Postnummer 11455", "114 55 Stockholm"),
        ("Error code 0x80070057", "0x80070057"),
    ],
    "source marks": [
        ("The plan costs 299 kr.", "The plan costs 299 kr [1]."),
        ("The plan costs 299 kr.", "The plan costs 299 kr (1)."),
        ("The plan costs 299 kr.", "The plan costs 299 kr (source 1)."),
        ("The plan costs 299 kr.", "The plan costs 299 kr. [1]"),
        ("Planen kostar 299 kr.", "Planen kostar 299 kr (källa 1)."),
        ("Costs 299 kr", "Costs 299 kr [1, 1]."),
        ("Costs 299 kr", "Enligt (källa 1) kostar det 299 kr"),
    ],
    "ordinals, fractions, ratios": [
        ("the 3rd plan", "plan 3"),
        ("We had 6", "The sex of the patient is unknown"),
        ("The third contract", "A third contract is needed"),
        ("1/3 of users", "a third of users"),
        ("A ratio of 1:4", "A ratio of 1:4"),
        ("Skala 1:50 000", "Skala 1:50 000"),
        ("The 2000s", "the 2000s"),
    ],
    "versions": [
        ("Fungerar med Python 3.10", "Works with Python 3.10"),
        ("v2.1", "version 2.1"),
        ("version 2.1", "v2.1"),
        ("Support in version 3", "Support in v3"),
    ],
    "dimensions": [
        ("10 x 20 cm", "10x20 cm"),
        ("120 x 200 cm", "Sängen är 120x200 cm"),
        ("4x4s", "a 4x4"),
        ("10 cm x 20 cm", "10 x 20 cm"),
        ("10 cm by 20 cm", "10 x 20 cm"),
        ("10 x 20 cm", "10 cm x 20 cm"),
        ("1920 x 1080", "1920x1080"),
        ("1920 x 1080 px", "1920×1080 pixels"),
    ],
    "short units": [
        ("Torque 5 Nm", "Torque 5 Nm"),
        ("6 st", "6 stycken"),
        ("6 pcs", "6 pieces"),
        ("Battery 5", "Battery 5 Ah"),
        ("10 users", "10 VIP users"),
    ],
    "labels": [
        ("- Price (kr): 149", "149 kr"),
        ("Price (USD/month): 49", "$49 per month"),
        ("Price per month: $49", "$49 a month"),
        ("Monthly: $10; yearly: $100", "$10 per month or $100 per year"),
        ("Timpris: 900 kr", "900 kr i timmen"),
    ],
}
BAD: dict[str, list[tuple[str, str]]] = {
    "footnotes": [
        ("It costs 9 kr.[^12]", "It costs 12 kr."),
        ("It costs 9[^9] kr.", "It costs 99 kr."),
        ("9 kr", "9 kr [^7]"),
    ],
    "codes of a country": [
        ("SE556677889901", "VAT number SE 556677889902"),
        ("SE556677889901", "NO 556677889901"),
        ("SE 556677889901", "NO556677889901"),
        ("SE 8899", "SE 556677-8899"),
        ("SE 56789", "SE 1234-56789"),
        ("SE 556677-8899", "NO5566778899"),
    ],
    "ports": [
        ("It listens on http://localhost:8080/health", "8080 kr"),
        ("It listens on http://localhost:8080/health", "8080 days"),
        ("It listens on http://localhost:8080/health", "http://localhost:8081/health"),
        ("It listens on http://localhost:8080/health", "port 80"),
        ("port 8080", "http://localhost:8080"),
        ("http://x/a:8080", "8080"),
        ("http://user:1234@x/", "1234"),
    ],
    "thousands in short": [
        ("$3", "$3k"),
        ("$3,000", "$3"),
        ("$3k", "$30,000"),
        ("$3-5", "$3k-5k"),
        ("$3k/month", "$3k/year"),
        ("$3.000", "$3k"),
        ("3,000 kr", "3k kr"),
        ("$3k", "€3k"),
    ],
    "headers that say what in": [
        ("| Paket | Pris i kr |\n|---|---|\n| Bas | 149 |", "Bas kostar 149 EUR"),
        ("| Paket | Pris i kr per månad |\n|---|---|\n| Bas | 149 |", "Bas kostar 149 kr per år"),
    ],
    "names of charges": [
        ("The monthly fee is 299 kr", "The annual fee is 299 kr"),
        ("The monthly fee is 299 kr", "299 kr per year"),
        ("The fee is 299 kr per month", "The yearly cost is 299 kr"),
        ("Avgiften är 299 kr i månaden", "Årsavgiften är 299 kr"),
        ("Priset per år är 2990 kr", "2990 kr per månad"),
        (
            "| | Basic | Pro |\n|---|---|---|\n| Price per month | $9 | $29 |\n| Price per year | $90 | $290 |",
            "Pro costs $290 per month",
        ),
        ("| | Basic | Pro |\n|---|---|---|\n| Månadsavgift (kr) | 9 | 29 |", "Pro kostar 29 kr per år"),
        ("The monthly fee is $5 per user", "$5 per user per year"),
        ("| Länk | Pris |\n| --- | --- |\n| A | 5 kr/st |", "5 kr/kg"),
        ("$40 per square foot", "$40 per square metre"),
    ],
    "rates": [
        ("Paketet kostar 299 kr per månad", "Det kostar 299 kr per år"),
        ("Paketet kostar 299 kr per månad", "Det kostar 299 kr/år"),
        ("Paketet kostar 299 kr/mån", "Det kostar 299 kr årligen"),
        ("It costs $9 a month", "It costs $9 per year"),
        ("It costs $9 a month", "It costs $9 annually"),
        ("It costs $9 monthly", "It costs $9 a year"),
        ("It costs $9 per user per month", "$9 per user per year"),
        ("$9 per seat", "$9 per month"),
        ("100 requests per minute", "100 requests per second"),
        ("three times a week", "three times a day"),
        ("3 gånger i veckan", "3 gånger om dagen"),
        ("10 GB/day", "10 GB per month"),
        ("Pris 45 kr/kg", "Pris 45 kr/st"),
        ("1200 kr/natt", "1200 kr per vecka"),
        ("450 kr per anställd", "450 kr per månad"),
        ("2 per anställd", "2 per avdelning"),
        ("$99 per quarter", "$99 per month"),
        ("The plan costs 299 kr.", "It has 1 month."),
        ("Konsult 900 kr i timmen", "900 kr per dag"),
        ("Rates are 3.5 % per year", "3.5 % per month"),
        ("800 kr exkl. moms per månad", "800 kr per år"),
        ("$20 per 1,000 calls", "$20 per 1,000,000 calls"),
        ("Fee is 50 kr", "50 kr and 3 days"),
        ("1 000 kr per person och natt", "1 000 kr per person och vecka"),
    ],
    "multipliers": [
        ("Cost is $6 to $7 billion", "The cost is $6"),
        ("£50m", "£50"),
        ("50 m", "£50m"),
        ("It costs $50 and up", "It costs two grand"),
        ("It costs $50", "5 grand"),
    ],
    "times and ranges": [
        ("Öppet 10.00-18.00", "Öppet 10-19"),
        ("Opens at 09:00 CET", "Opens at 09:00 EST"),
    ],
    "long numbers": [
        ("IBAN SE45 5000 0000 0583 9825 7466", "SE4550000000058398257467"),
        ("Postnummer 11455", "114 56 Stockholm"),
    ],
    "source marks": [
        ("The plan costs 299 kr.", "The plan costs 299 kr [7]."),
        ("Costs 299 kr", "(5) Costs 299 kr"),
        ("Costs 299 kr", "Costs 299 kr [1, 3]."),
        ("Costs 299 kr", "Call `f(x) [1]`"),
        ("Costs 299 kr", "see [1](http://x)"),
    ],
    "ordinals, fractions, ratios": [
        ("The plan is in 3rd place", "The plan is 3.0"),
        ("The plan is in 3rd place", "Plan #3"),
        ("A contract", "A third of the contracts"),
        ("A contract", "a third off"),
        ("A contract", "it is a third cheaper"),
        ("Blanda 1:4", "Blanda 4 delar"),
        ("Blanda 1:4", "Blanda 1:40"),
    ],
    "versions": [
        ("Fungerar med Python 3.10", "It works with Python 3.1"),
        ("Needs Python 3.1", "Works on Python 3.10"),
        ("v2.1", "version 2.10"),
    ],
    "dimensions": [
        ("10x20 cm", "10x20 mm"),
        ("10 x 20 cm", "10 x 20 inches"),
    ],
    "short units": [
        ("Torque 5 Nm", "Torque 5 N"),
        ("Battery 5 Ah", "Battery 5 mAh"),
        ("12 pk", "12 dz"),
    ],
    "labels": [
        ("Price (USD/month): 49", "$49 per year"),
        ("Price per month: $49", "$49 per year"),
        ("Monthly: $10; yearly: $100", "$10 per year"),
        ("Monthly: $10; yearly: $100", "$100 per month"),
        ("Timpris: 900 kr", "900 kr per dag"),
        ("Månadsavgift: 900 kr", "900 kr om året"),
    ],
}


@pytest.mark.parametrize("theme", GOOD)
def test_supported(theme: str) -> None:
    """What the snippet says passes, in every form."""
    wrong = [
        (snippet, answer)
        for snippet, answer in GOOD[theme]
        if not check_numbers(answer, snippets_of(snippet)).is_supported
    ]
    assert wrong == []


@pytest.mark.parametrize("theme", BAD)
def test_unsupported(theme: str) -> None:
    """What the snippet does not say is refused, however like it looks."""
    wrong = [
        (snippet, answer)
        for snippet, answer in BAD[theme]
        if check_numbers(answer, snippets_of(snippet)).is_supported
    ]
    assert wrong == []
