"""Swedish words that ask for an action, and words that show that it is not wanted."""

from ..acting import Acting, Calling, Keywords, Mood
from ..language import words

ACTING = Acting(
    keywords=Keywords(
        schedule_callback=("ring mig", "ring mig tillbaka", "ring upp"),
        send_sms=("sms", "sms:a"),
        create_ticket=("skapa ärende", "skapa ett ärende", "öppna ärende", "öppna ett ärende"),
    ),
    negators=words("inte ej aldrig sluta slipp slippa undvik"),
    excluders=words("utan ingen inget inga"),
    fillers=words("mer fler flera något några ett en mail samtal mejl eller och"),
    late_negators=words("inte ej aldrig"),
    followers=words("mig upp oss absolut verkligen helst snälla någonsin"),
    asking=words("varför"),
    new_start=words("men så och snälla snäll vänlig god utan istället"),
    carries_on=words("eller och"),
    clock=words("kl klockan"),
    mood=Mood(
        speakers=words("jag vi man"),
        others=words("du ni han hon det den de dom någon ingen folk som"),
        users=words("mig oss"),
        objects=words("er dig dem honom henne"),
        anyone=words("någon"),
        modals=words("kan kunde får skulle ska skall bör borde vill må"),
        promising=words("ska skall skulle"),
        leave=words("kan kunde"),
        wanting=words(
            "vill vilja behöver behöva önskar önska begär tänkte tänker hoppas ber be uppskattar måste"
        ),
        getting=words("få ha be begära beställa skapa öppna skicka"),
        asking=words("vad hur varför vem vilka vilken vilket vems när vart varifrån"),
        inverting=words(
            "är har hade får fick går gick finns måste behöver skickar brukar blir blev kommer gör var"
        ),
        stating=words(
            "skickar skapar öppnar köper kostar är har ger gör kommer brukar säger ringer bokar betalar"
        ),
        past=(
            r"\w{2,}[^\Wbg]ade|\w{2,}(?:kte|pte|gde|llde|lde|mde|tte|sste|örde|orde)|var|hade|blev|fick|gick|kom|tog|"
            r"gav|sa|sade|såg|skrev|köpte|bad|dog|stod|låg|satt|fann|lät|drog|bröt|höll|for|trodde|försvann|visste|"
            r"försökt|bett|lovat|tänkt|velat|kunnat|fått|glömt|låtit|hjälpt|sagt|tvungen"
        ),
        being=words("är har var kom kommer kostar fungerar funkar gick går blev hade fick får ska kan"),
        articles=words("en ett någon något"),
        known=words(
            "det den detta denna min mitt mina din ditt dina er ert era vår vårt våra deras varje alla"
        ),
        endings=r":(?:et|en|ets|ens|n|s)",
        otherwise=words(
            "köpa köp boka beställ sälja sälj avboka stäng stänga ta tappa hitta visa läsa betala betal ändra"
        ),
        linking=words("att om för till det åt"),
        conditions=words("om ifall när såvida tills"),
        proposing=words("sägs vore"),
        counting=words("många mycket få lite länge ofta"),
    ),
    calling=Calling(
        regions=("SE",),
        dialling=words("ring"),
        reaching=words("på till via genom å"),
        phones=words("nummer numret telefon telefonnummer tel mobil mobilnummer mobilen tfn"),
        labels=(
            r"(?:kund|klient|order|faktura|konto|ärende|referens|ref|medlems|boknings|paket|kolli|avtals|serie|bank|"
            r"kort|moms|organisations|org|person|pass|leverans|spårnings|mätar|artikel|kvitto|försäkrings|diarie|"
            r"kontrakts|id|ocr|plus|bank)(?:s|-)?(?:nummer|numret|nr|id|giro|kod)?(?:et|en|n)?|belopp|kod|summa"
        ),
        joining=words("nummer numret nr är var det mitt min vårt vår med den på heter"),
        amounts=r"kr|kronor|kronan|öre|euro|procent|stycken|st|gånger|personer",
        being=r"är|var",
        outdated=r"gamla|gammalt|förra|fel|tidigare|i ?stället för|annat än|förutom|inte längre",
        lapsed=(
            r"(?:(?:är|var|gäller|fungerar|funkar|används|stämmer) (?:inte|fel|gammalt|mitt (?:gamla|förra|tidigare))"
            r"|längre)"
        ),
        origins=words("från"),
        addressed=words("ert er ditt din deras hans hennes"),
        corrections=words("förlåt nej menar rättare vänta ursäkta oj"),
        saying=r"där det står|att|med texten|med meddelandet|och säga?(?: att)?|som säger(?: att)?",
    ),
)
