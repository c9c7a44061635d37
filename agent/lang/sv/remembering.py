"""How Swedish says what is to be remembered."""

from ..language import words
from ..remembering import Remembering

REMEMBERING = Remembering(
    openers=(
        r"och|men|så|också|sen|sedan|jo|ja|jaha|jag menar|nej|nä|okej|ok|bra|fint|toppen|tack|tack så mycket|hej|hejsan"
        r"|snälla|vänligen|var snäll och|var vänlig och|faktiskt|egentligen|förresten|för övrigt|dessutom|oj|förlåt|obs"
        r"|till din information|rättelse|tyvärr|äntligen|idag|i dag|igår|i går|då"
    ),
    when=r"efter|före|under|förra|denna|den här|i|på|vid|sedan",
    joining=r"och|men|så",
    telling=(
        r"(?:kom ihåg|kom i håg|glöm inte|glöm ej|tänk på|minns|notera|lägg på minnet)"
        r"(?:,? att\b|:(?=\s)|(?=,?\s+(?:min|mitt|mina|vår|vårt|våra|jag|vi)\b))"
    ),
    recalling=(
        r"gången|dagen|kvällen|natten|sommaren|när|då"
        r"|(?:inte )?(?!(?:alla|dessa|denna|mina|våra|samma|båda|flera|mamma|pappa|svenska|deras|ena)\b)"
        r"(?:(?-i:[a-zåäö]{2,}a)|gå|få|se|be|ge|bo|stå|slå|le|dö|sy|tro|må|ske|nå)"
    ),
    henceforth=(
        r"från och med (?:nu|idag|i dag)|fr\.?o\.?m\.? (?:nu|idag)|hädanefter|i fortsättningen|framöver"
        r"|från (?:nu|idag) och framåt"
    ),
    standing=r"alltid|aldrig",
    ordering=words(
        "ange använd anta anteckna avboka avrunda avsluta avstå be begär behandla behåll bekräfta beräkna beskriv "
        "beställ betala bifoga boka bortse börja citera debitera dela dubbelkolla fakturera faktura formatera "
        "fråga följ förklara förvara ge gå glöm gruppera gör hantera hoppa håll hälsa hänvisa ignorera inkludera "
        "kalla kolla kom kontakta kontrollera konvertera kopiera leverera lista ljug lova lyssna lägg lämna läs lös "
        "mejla maila messa meddela nämn omvandla ordna packa påminn påpeka pröva prata ring runda räkna rätta "
        "sammanfatta skicka skriv sluta sms sortera spara stava stäng svara säg sätt ta tala tilltala titta tro tänk "
        "undvik uppge utgå utelämna utgå vidarebefordra visa vänta välj översätt"
    ),
    preferring=(
        r"(?:(?:jag|vi)(?: (?:verkligen|alltid|oftast|helst|fortfarande|nu|båda|alla))* föredrar|föredrar (?:jag|vi))"
    ),
    rather=r"framför|i ?stället för|hellre än|än",
    deciding=(
        r"(?:(?:jag|vi)(?: (?:har|precis|just|nu|äntligen|också|båda|alla|redan|idag))*"
        r" (?:bestämde|bestämt|beslutade|beslutat|beslöt|enades|enats|kom överens)"
        r"|(?:bestämde|beslutade|beslöt|enades|kom) (?:jag|vi)(?: överens)?)(?: (?:mig|oss))?"
    ),
    linking=r"att|för|om|på",
    topic=r"för|som",
    intending=(
        r"(?:(?:jag|vi) (?:ska|skall|måste|behöver|tänker|kommer att|har lovat att|lovade att)"
        r"|(?:ska|skall|måste|behöver|tänker) (?:jag|vi))"
    ),
    mine=words("min mitt mina vår vårt våra"),
    yours=words("du ni man din ditt dina er ert era deras hans hennes sin sitt sina"),
    equals=r"är|=|ligger på|heter",
    has=r"har|kostar|tar",
    nearly=(
        r"ungefär|cirka|ca\.?|omkring|runt|drygt|knappt|exakt|precis|bara|nu|just nu|fortfarande|alltid|oftast|"
        r"över|under|nästan|den|det|en|ett|på|kl\.?|klockan|upp till|minst|högst|mer än|mindre än|mellan"
    ),
    behind=(
        r"per|om|i|på|från|sedan|sen|till|och|eller|denna|nästa|av|med|utan|inklusive|exklusive|inkl|exkl|plus|före|"
        r"efter|men|så|eftersom|som|innan|när|inte|nu|totalt|varje|var|igen|exakt|varav"
    ),
    talk=words("fråga frågor problem poäng gissning svar önskan meddelande undran ärende"),
    until=r"senast|före|innan|inte senare än|fram till",
    seeking=words("veta höra fråga förstå se hitta få kolla vara"),
    done=(
        r"(?:är|blev|har blivit|var)(?: (?:nu|äntligen|helt|redan|också))*"
        r" (?:klar|klart|klara|färdig|färdigt|färdiga|avklarad|avklarat|avklarade|avslutad|avslutat"
        r"|avslutade|gjord|gjort)"
    ),
    done_with=(
        r"(?:jag|vi)(?: är(?: (?:nu|äntligen|helt))* (?:klar|klara|färdig|färdiga) med"
        r"| har(?: (?:nu|äntligen|precis|just|redan))* (?:avslutat|slutfört|gjort klart|gjort färdigt))"
    ),
    no=r"inte|ej|icke|aldrig|ingen|inget|inga|varken|utan",
    but=r"utan|men",
    denied={"är inte": "är", "är ej": "är"},
    supposing=(
        r"om(?! att\b)|ifall|såvida|huruvida|tänk om|anta|antag|föreställ|låtsas|säg att|kanske|möjligen|eventuellt"
        r"|förmodligen|troligen|skulle|kunde|borde|bör|hoppas|önskar|som om|osäker|nästan"
    ),
    imagining=(
        r"tänk om|anta|antag|föreställ dig|låtsas|säg att|låt säga|till exempel|exempelvis|i (?:en|ett|min) "
        r"(?:berättelse|roman|spel|saga)|skriv om|översätt|sammanfatta|formulera om"
    ),
    saying=(
        r"sa|sade|säger|sagt|berättade|berättar|skrev|skriver|skrivit|påstår|påstod|enligt|nämnde|nämner|frågade|frågar|"
        r"tror|trodde|tycker|tyckte|hörde|läste|står|stod|heter det|citat|rapporterade|föreslog|menar"
    ),
)
