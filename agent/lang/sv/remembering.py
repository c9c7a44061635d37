"""Swedish phrases that ask for something to be remembered."""

from ..language import words
from ..remembering import Remembering

REMEMBERING = Remembering(
    openers=(
        r"och|men|så|också|sen|sedan|jo|ja|jaha|jag menar|nej|nä|okej|ok|bra|fint|toppen|tack|tack så mycket|hej|hejsan"
        r"|snälla|vänligen|var snäll och|var vänlig och|faktiskt|egentligen|förresten|för övrigt|dessutom|oj|förlåt|obs"
        r"|till din information|rättelse|du(?=,)"
        r"|ärligt talat|helt ärligt|personligen|generellt|alltså|asså|nja|hmm*|tyvärr|äntligen|idag|i dag|igår|i går|då"
    ),
    when=r"efter|före|under|förra|denna|den här|i|på|vid|sedan",
    joining=r"och|men|så",
    requesting=(
        r"(?:kan|kunde|vill) (?:du|ni)(?: snälla)?|skulle (?:du|ni) (?:kunna|vilja)"
        r"|jag (?:vill|skulle vilja) att (?:du|ni)"
    ),
    telling=(
        r"(?:kom ih[åa]g|kom i håg|komma ihåg|minnesanteckning"
        r"|till framtiden|(?<=att du )kommer ihåg|glöm inte|glöm ej|tänka? på|minns|minnas|notera"
        r"|anteckna|skriva? upp|lägga? på minnet|ha i åtanke"
        r"|(?:lägga? till|spara)(?: (?:det|detta|det här))? i (?:minnet|ditt minne))"
        r"(?: (?:framöver|framåt|hädanefter|för \w+|till \w+))?"
        r"(?:,? att\b|(?: (?:det här|detta|följande))?:(?=\s)|(?=,?\s+(?:min|mitt|mina|vår|vårt|våra|jag|vi)\b))"
    ),
    kept=r"(?:snälla )?(?:kom ihåg|kom i håg|notera|spara|minns|glöm inte) (?:det|detta|det här|den)",
    recalling=(
        r"gången|dagen|kvällen|natten|sommaren|när|då"
        r"|(?:inte )?(?!(?:alla|dessa|denna|mina|våra|samma|båda|flera|mamma|pappa|deras|ena)\b)"
        r"(?:(?-i:[a-zåäö]{2,}a)|gå|få|se|be|ge|bo|stå|slå|le|dö|sy|tro|må|ske|nå)\b"
        # but for "nya koden är ...": a name or a price is nothing to be done
        r"(?!(?: (?!(?:om|att|som|när|då|vad|vem|var|hur|varför|vilken|vilket|vilka|innan|medan|eftersom|för|så"
        r"|men|och|det|den)\b)\w+){0,4} (?:är|heter|kostar|ligger på|har)\b)"
    ),
    henceforth=(
        r"från och med (?:nu|idag|i dag)|fr\.?o\.?m\.? (?:nu|idag)|hädanefter|i fortsättningen|framöver"
        r"|från (?:nu|idag) och framåt|som regel (?=\w+ (?:jag|vi)\b)"
    ),
    conditional=r"när|om|innan|efter|så snart",
    commanding=r"du (?:ska|skall|får|måste)|(?:ska|skall|får|måste) du",
    lasting_order=(
        r"kalla mig (?!(?:inte|det|den|för|som|till|när|om|en|ett)\b)[^\W\d]\w+|sluta (?:att )?(?!nu\b)\w{2,}a\b"
        r"|inga? [\w ]{1,40},? någonsin\b"
    ),
    defining=r"när (?:jag|vi) (?:säger|skriver|nämner|pratar om) [^.;:]{1,60}?(?:menar|avser) (?:jag|vi)\b",
    whenever=r"(?:varje gång|så fort|närhelst)(?: som)? (?:jag|vi|du|någon)\b",
    standing=r"alltid|aldrig",
    ordering=words(
        "ange anta anteckna använd avboka avrunda avsluta avstå be begär behandla behåll bekräfta beräkna beskriv "
        "beställ betala bifoga boka bortse börja citera debitera dela dubbelkolla faktura fakturera formatera "
        "fråga följ föreslå förklara förvara ge generera gissa glöm gruppera gå gör hantera hoppa hälsa hänvisa "
        "håll ignorera inkludera jämför kalla kolla kom kontakta kontrollera konvertera kopiera leverera lista "
        "ljug lova lyssna lägg lämna läs lös maila markera meddela mejla messa nämn omvandla ordna packa prata "
        "pröva påminn påpeka radera rekommendera ring runda räkna rätta sammanfatta skapa skicka skriv sluta sms "
        "sortera spara stava stäng svara säg sätt ta tala tilltala titta tro tänk undvik uppdatera uppge upprepa "
        "utelämna utgå vidarebefordra visa välj vänta översätt"
    ),
    preferring=(
        r"(?:(?:jag|vi)(?: (?:verkligen|alltid|oftast|helst|fortfarande|nu|båda|alla))* föredrar|föredrar (?:jag|vi)"
        r"|(?:jag|vi) (?!vill)[a-zåäö]{2,}r (?:allra |mycket )?(?:helst|hellre))"
    ),
    liking=(
        r"(?:(?:jag|vi)(?: (?:verkligen|också|fortfarande|båda|alla))* )?"
        r"(?:älskar|hatar|avskyr|ogillar|gillar|tycker(?: (?:verkligen|mycket|inte))* om|tål inte|står inte ut med)"
        r"(?: (?:jag|vi))?(?: (?:verkligen|inte))*(?: om)?"
    ),
    habits=r"när du|att du",
    favourite=r"favorit\w*",
    rather=r"framför|i ?stället för|hellre än|än",
    deciding=(
        r"(?:(?:jag|vi)(?: (?:har|precis|just|nu|äntligen|också|båda|alla|redan|idag))*"
        r" (?:bestämde|bestämt|beslutade|beslutat|beslöt|enades|enats|kom överens|valde|valt|kör på|satsar på)"
        r"|(?:bestämde|beslutade|beslöt|enades|kom|valde) (?:\w+ och )?(?:jag|vi)(?: överens)?"
        r"|(?:nu|då) är det bestämt|det är bestämt"
        r"|(?:nu |då )?har (?:jag|vi)(?: (?:nu|äntligen|också))* (?:bestämt|beslutat|enats|valt))(?: (?:mig|oss))?"
        r"(?: (?:igår|i går|idag|i dag|nu|tillsammans))?"
    ),
    linking=r"att|för|om|på",
    topic=r"för|som",
    intending=(
        r"(?:(?:jag|vi)(?: (?:också|fortfarande|verkligen))* (?:ska|skall|måste|behöver|tänker|kommer att"
        r"|har lovat(?: \w+){0,2} att|lovade(?: \w+){0,2} att)|(?:ska|skall|måste|behöver|tänker) (?:jag|vi))"
    ),
    obliging=(
        r"(?:(?:jag|vi)(?: (?:också|fortfarande|verkligen))* (?:måste|behöver|har lovat(?: \w+){0,2} att"
        r"|lovade(?: \w+){0,2} att)|(?:måste|behöver)(?: (?:jag|vi))?|påminn mig om(?: att)?)"
    ),
    obliged=r"(?:måste|behöver|ska|skall|bör) (?=\w{3,}(?:as|es)\b)",
    living=(
        r"(?:jag|vi)(?: (?:numera|nu|fortfarande|också|båda))* "
        r"(?:(?:bor|jobbar|arbetar|studerar|pluggar) (?:i|på|som|hos|vid|åt|nära)|(?:driver|äger|talar|undervisar i)"
        r"(?: ett| en)?|heter|är födda?(?: i| den)?)(?= \w)"
    ),
    being=(
        r"(?:jag|vi) (?:(?:äter|dricker|röker) (?:inte|aldrig|inget|ingen|inga)|kan inte (?:äta|dricka))"
        r"|(?:jag|vi) är(?: (?:också|båda|svårt|mycket))* (?:allergiska? mot|allergiker|\d{1,3} år|vegan(?:er)?"
        r"|vegetarian(?:er)?|diabetiker|\w+intoleranta?|färgblinda?|vänsterhänta?|dyslektiker)"
    ),
    measuring=r"(?:jag|vi)(?: (?:nu|bara))* (?:väger|tjänar|mäter)",
    mine=words("min mitt mina vår vårt våra"),
    one=frozenset({"min", "mitt", "vår", "vårt", "är", "heter"}),
    yours=words("du ni man din ditt dina er ert era deras hans hennes sin sitt sina"),
    equals=r"är|=|ligger på|heter",
    has=r"har|kostar|tar",
    nearly=(
        r"ungefär|cirka|ca\.?|omkring|runt|drygt|knappt|exakt|precis|bara|nu|just nu|fortfarande|alltid|oftast|"
        r"över|under|nästan|den|det|en|ett|på|kl\.?|klockan|upp till|minst|högst|mer än|mindre än|mellan"
    ),
    behind=(
        r"per|för (?:allt|alla|hela|en|ett|varje|min|mitt|mina|den|det)|om|i|på|från|sedan|sen|till|och|eller|"
        r"denna|nästa|gammal|gammalt|gamla|av|med|utan|inklusive|exklusive|inkl|exkl|plus|före|efter|men|så|eftersom"
        r"|som|innan|när|inte|nu|totalt|varje|var|igen|exakt|varav"
    ),
    talk=words("fråga frågor problem poäng gissning svar önskan meddelande undran ärende"),
    choices=words(
        "alternativ alternativet alternativen version versionen versioner varianten förslag förslaget utkast utkastet "
        "stycket"
    ),
    deadline=r"(?:sista dagen?|deadline) för",
    until=r"senast|före|innan|inte senare än|fram till",
    lasting=r"till|tills|sedan|vänta|i \d",
    seeking=words(
        "säga erkänna hålla gå åka jobba arbeta vänta veta höra fråga förstå se hitta få kolla vara"
    ),
    done=(
        r"(?:är|blev|har blivit|var)(?: (?:nu|äntligen|helt|redan|också))*"
        r" (?:klar|klart|klara|färdig|färdigt|färdiga|avklarad|avklarat|avklarade|avslutad|avslutat"
        r"|avslutade|gjord|gjort)"
    ),
    done_with=(
        r"(?:jag|vi)(?: är(?: (?:nu|äntligen|helt))* (?:klar|klara|färdig|färdiga) med"
        r"| har(?: (?:nu|äntligen|precis|just|redan))* (?:avslutat|slutfört|gjort klart|gjort färdigt))"
        r"|(?:(?:du|ni) kan(?: nu)? (?:stryka|bocka av|pricka av)|stryk|bocka av|pricka av)"
    ),
    all_done=(
        r"(?:(?:det|den|det där|det här) (?:är|blev)(?: (?:nu|redan|äntligen))* |nu är (?:det|den) )?"
        r"(?:klart|färdigt|avklarat|gjort|fixat|ordnat)(?: nu)?|(?:den är|nu är den) (?:klar|färdig|avklarad)"
        r"|jag har(?: (?:nu|redan|precis))* (?:gjort|fixat|ordnat) (?:det|den)"
        r"|nu har jag (?:gjort|fixat|ordnat) (?:det|den)"
    ),
    no=r"inte|ej|icke|aldrig|ingen|inget|inga|varken|utan",
    but=r"utan|men",
    denied={"är inte": "är", "är ej": "är"},
    joking=r"lol|(?:ha){2,}h?|(?:he){2,}|skoja(?:r|de) bara|bara skojar?|skämt åsido|på skoj|på skämt",
    supposing=(
        r"(?<!tycker )(?<!tycker inte )(?<!tycker mycket )(?<!tycker verkligen )om(?! att\b)|ifall|såvida"
        r"|huruvida|tänk om|anta|antag|föreställ|låtsas|säg att|kanske|möjligen|eventuellt|förmodligen|troligen"
        r"|skulle|kunde|borde|bör|hoppas|önskar|som om|osäker|nästan"
    ),
    imagining=(
        r"tänk om|anta|antag|föreställ dig|låtsas|säg att|låt säga|till exempel|exempelvis|i (?:en|ett|min) "
        r"(?:berättelse|roman|spel|saga)|skriva? om|översätta?|sammanfatta|formulera om"
    ),
    saying=(
        r"sa|sade|säger|sagt|berättade|berättar|skrev|skriver|skrivit|påstår|påstod|enligt|nämnde|nämner|frågade"
        r"|frågar|"
        r"tror|trodde|tycker(?! (?:\w+ ){0,2}om\b)|tyckte|hörde|läste|står(?! (?:\w+ )?ut\b)|stod|heter det|citat"
        r"|rapporterade|föreslog|menar"
    ),
    idea=(
        r"(?:(?:jag|vi) (?:har|fick|kom på)|här (?:är|kommer)) (?:en|ett|min|mitt|ännu en)(?: \w+)?"
        r" (?:idé|ide|förslag)(?: (?:för|om|på|till) [^:,.;!?]{1,40}?)?\s*[:,–-]"
        r"|(?:(?:min|mitt|en|ett|ännu en|en till|ett till|ny|nytt) )?(?:idé|ide|förslag)(?: (?:för|om|på"
        r"|till) [^:,.;!?]{1,40}?)?\s*:"
    ),
    suggesting=(
        r"(?:min|mitt|en|ett)(?: \w+)? (?:idé|ide|förslag) (?:är|vore|var) att"
        r"|kanske (?:borde|bör|skulle) vi|vi (?:borde|bör|skulle) kanske|vi kanske (?:borde|bör|skulle)"
        r"|jag föreslår(?: att)? vi|det vore (?:bra|smart|kul|fint|värt)(?: \w+)? om vi"
        r"|det (?:kan|kunde|kanske kan) vara värt att"
    ),
    lesson=(
        r"(?:(?:en|min|vår|ännu en)(?: \w+)? )?lärdom(?:en|ar)?(?: (?:av|från|här|idag)[^:,.;!?]{0,40}?)?\s*:"
        r"|till nästa gång\s*:"
    ),
    learning=(
        r"(?:(?:en|den|min|vår)(?: \w+){0,2} )?lärdom(?:en)?(?: (?:av|från|här)[^:,.;!?]{0,40}?)? (?:är|var|blev) att"
        r"|(?:jag|vi)(?: har(?: (?:nu|också))*)? lär(?:de|t) (?:mig|oss)(?: den hårda vägen)?,? (?:att|aldrig|alltid)"
        r"|nästa gång (?:ska|måste|borde|bör|behöver) (?:jag|vi)"
    ),
    happened=(
        r"gick (?:sönder|ner|ned|igång|omkull|live|i konkurs|i pension|i lås)|brast|kraschade|stannade|slutade|började"
        r"|startade|öppnade|stängde|flyttade|inträffade|brann(?: (?:ner|ned|upp))?|läckte|exploderade|rasade|stals|dog"
        r"|avled|anlände|avgick|tog (?:slut|examen)|ägde rum|ställdes in|lades ner|vann|gifte (?:mig|sig|oss)"
        r"|(?:sade|sa) upp (?:mig|sig|oss)|anställde|lanserade|släppte|publicerade|uppgraderade|installerade|reparerade"
        r"|skrev (?:på|under)|(?!fanns)\w{3,}(?:ades|ndes|gdes|jdes|ldes|rdes|ktes|ptes|stes)"
    ),
    happening=(
        r"(?:kommer att|ska|skall) (?:börja|starta|öppna|stänga|sluta|flytta|lanseras|släppas|invigas|äga rum|upphöra)"
        r"|börjar|startar|öppnar|stänger|slutar|flyttar|lanseras|släpps|invigs|äger rum|går (?:av stapeln|i pension"
        r"|live)"
        r"|tar slut|anländer|gifter (?:mig|sig|oss)|ställs in|stängs|öppnas|flyttas|byts|levereras|åker|reser"
        r"|träder i kraft|upphör"
    ),
    this_day=r"(?:tidigare )?(?:idag|i dag)|ikväll|i kväll|imorse|i morse|i förmiddags|i eftermiddag",
    on_day=r"på|i|den|från|från och med",
    day_part=r"morse|morgon|förmiddag|eftermiddag|kväll|natt",
    unclear=words("dem han hon hen där här som vad vem allt något"),
    hints=words(
        "idé ide förslag föreslår kanske vore värt lärdom lärdomen lärdomar lärde lärt gång idag dag ikväll kväll "
        "imorse morse förmiddags eftermiddag"
    ),
)
