"""Swedish words: letters and function words, features of the language, and words without content in a question."""

from ..language import Filing, Orthography, QuestionPatterns, Recalling, Searching, Stating, Telling, words

_FUNCTION_WORDS = """
aldrig all alla allt alltid alltså andra annan annat att av bara bli blir blev blivit bort både båda bör borde
da de dem den denna denne deras dess dessa det detta dig din dina dit ditt dock dom du då där därför efter eftersom
ej eller emellan emot en enligt er era ert ett fast fler flera fram framför från för före få får fick fått genom
gentemot gör göra gjorde gjort ha hade haft han hans har helt hellre henne hennes hit hon honom hos hur här i
ibland icke igen inga ingen inget ingenting innan inne inom inte ja jag ju kan kanske kommer kring kunde kunna
kunnat lite man med medan mellan men mer mera mest mig min mina mitt mot mycket måste ner någon någonting något
några när nej ni nog nu nån nåt när och ocksa också om oss på redan samma samt sedan sen sig sin sina sitt ska skall
skulle skull snarare som så sådan sådana sådant till tills trots under upp ut utan utanför utom vad var vara vare
varför varit varje vars vart varje vem vems vi vid vilka vilkas vilken vilket vill ville vore
vår vårt våra är än ännu åt över
"""

WRITING = Orthography(
    function_words=words(_FUNCTION_WORDS),
    letters="åäö",
    abbreviations=words(
        "t.ex bl.a m.m m.fl d.v.s dvs s.k resp inkl exkl osv o.s.v p.g.a pga f.d fr.o.m t.o.m kl nr st "
        "tel jfr sid kap f.ö c:a ang avd enl ev forts fig förk max min ca"
    ),
)

# Function words as people type them without å, ä and ö, unless that spells an English word, and content words that
# Swedish has and English has not, frequent in questions.
_FREQUENT = """
ar ocksa pa fran nar gar manga nagon nagot nagra vart sa dar darfor har lange mojligt gor kopa oppet ga
finns gäller kostar går hej tack öppet stänger ring mycket länge paket telefonnummer kundtjänst pris
betyder innebär fungerar heter ligger frakt leverans priser garanti butik kund kundtjanst oppettider
rabatt
"""

TELLING = Telling(
    words=words(_FREQUENT),
    endings=(
        r"ning|ningar|ningen|het|heten|heter|arna|erna|orna|ande|ades|else|elsen|lig|ligt|liga|isk|"
        r"iskt|iska|are|aren|ade|aste|rabatt|tid|tiden|ets|ens|sion|tionen|tioner|tjänst|skap|dom|"
        r"ast|are|ar|or|et|en|er|a|j"
    ),
    pairs=r"kt|sj|gg|sk|kv|lj|bj|fj|hj|ij|dd|mm|nn|[aeiou]k(?=[aeiou])|sv|nk|tj|bb|tt$|st(?=a)",
    marks="",
)

_EMPTY = """
använda använder behöver behövs berätta betyder brukar bra egentligen exakt fatta finnas finns fråga frågor
fungerar funkar fås gå går gått ge ger gett gäller gälla göras görs hej hejsan hitta hittar händer hända håller
hög höga högre låg låga lägre stora större idag ikväll imorgon information info innebär känner kommer komma kort
liten litet länge lång långt låt lär ligger lite menas mycket många möjligt möjlig märks nuvarande nästa olika
ok okej ordna ordnar prata sak saker sker ske snabbt snabb snälla snart sätt tid tiden dags klockan sådär står
stort stor ta tar tack tacksam tas tror typ undrar undra ungefär vanlig vanligt vanligtvis vet veta verkar vilja
visa visar även förklara först gång hjälpa hjälper igår redan rätt behöva krävs första sist sista senast
tillgänglig tillåtet person personer ihop
"""

SEARCHING = Searching(
    stemmer="swedish",
    empty_words=words(_EMPTY),
    asking=QuestionPatterns(
        number=(
            r"hur (?:många|mycket|länge|ofta|snart|fort|snabbt|gammal|gammalt|stor|stort|stora|liten|litet|sent|tidigt"
            r"|långt|lång|långa|kort|högt|hög|höga|lågt|låg|djupt|djup|brett|bred|smalt|smal|tungt|tung|tjockt|tjock"
            r"|tunt|tunn|dyrt|dyr|varmt|varm|hett|het|kallt|kall|fuktigt|fuktig|torrt|torr|brant|starkt|stark|hårt"
            r"|hård|tätt|tät|täta|nära|få|lite)"
            r"|(?:vad|vilket|vilken)(?: är)?(?: det| den)? (?:år|månad|dag|datum|procent|andel|storlek|nummer|ålder"
            r"|pris|kostnad|avgift|summa|temperatur|höjd|längd|vikt|bredd|djup|hastighet|avstånd|lutning"
            r"|mesta|minsta|lägsta|högsta|största|längsta|kortaste)"
            r"|(?:över|under|inom|efter|från|upp till) (?:vad|vilken|vilket)"
            r"|kostar|kosta|pris|priset|procent|andel|högst|minst|gräns|gränsen|max"
        ),
        money=(
            r"kostar?|kostnad(?:en)?|pris(?:et|er)?|betala(?:r)?|avgift(?:en|er)?|kronor|belopp(?:et)?"
            r"|pengar|lön(?:en)?|dyrt?|billigt?|billigast"
        ),
        time=(
            r"hur (?:länge|ofta|snart|fort|sent|tidigt|gammal|gammalt|lång tid)|vilken tid"
            r"|^när|(?:sedan|till|från|och|eller|vet) när"
            r"|när (?:är|var|blir|kan|får|ska|skall|måste|bör|har|kommer|vill)"
            r"|(?:vad|vilket|vilken|vilka) (?:år|månad|månader|dag|dagar|datum|tider)"
        ),
        counted=r"hur många",
        share=r"andel|procent|hur (?:mycket|stor del|många) av",
    ),
    joining=r"och|men|eller|också|då|så|hur är det med|hur blir det med|vad gäller|om|samma (?:för|med)|vilken av",
    referring=words("den det dess denna detta dessa de dem dom deras han hon honom henne båda"),
)

RECALLING = Recalling(
    asker=words("jag mig mej min mitt mina"),
    agent=words("du dig dej din ditt dina"),
    requests=(
        r"(?:kan|kunde|skulle|vill|ska) du|(?:minns|vet|tror) du|kommer du(?: ihåg| i håg)?|tack ska du"
        r"|(?:påminn|säg|visa|ge|hjälp|låt|berätta för|påminna|säga|visa|hjälpa) (?:mig|mej|oss)"
    ),
    everything=(
        r"vad (?:mer )?(?:minns du|kommer du (?:ihåg|i håg))(?: om (?:mig|mej|oss))?|vad vet du om (?:mig|mej|oss)"
        r"|vad har (?:jag|vi) berättat(?: för dig)?(?: om (?:mig|mej|oss))?|vem är jag"
        r"|(?:berätta|visa|säg) (?:vad|allt(?: som)?) du (?:minns|kommer ihåg|vet)(?: om (?:mig|oss))?"
    ),
    forgetting=(
        r"(?:snälla )?(?:(?:kan|kunde|skulle|vill) du (?:snälla )?)?(?:glöm|glömma)(?: bort)?"
        r" (?:att \w|vad|vem|var|min|mitt|mina|vår|vårt|våra|mig\b|oss\b|allt)[^.;:!?\n]*"
    ),
    times=words("nyligen häromdagen sistone senast"),
    endings=r"(?<=...)(?:et|an)|(?<=..[éåäö])[nt]|(?<=...)(?<=[bdfghjklmnoprtvy])s",
    joints=("", "s"),
)

STATING = Stating(
    said_of_all=words("kostar kosta kostnad kostnaden pris priset priser betala betalar cirka ungefär samt"),
    priced=words("pris priset priser kosta kostar kostade"),
    calendar=words(
        "måndag tisdag onsdag torsdag fredag lördag söndag vardag vardagar helg helger dagligen dag dagar vecka "
        "veckor månad månader år idag januari februari mars april maj juni juli augusti september oktober november "
        "december"
    ),
    versions=r"versionen|utgåva|utgåvan",
    parts=r"avsnitt|kapitel|del|steg|punkt|sidan?|figur|tabell|bilaga|artikel",
    examples=r"till exempel|t\.ex\.|exempelvis",
    at_most=r"högst|max|maximalt|mindre|färre",
    at_least=r"minst|mer|fler",
)

FILING = Filing(("titel", "rubrik"), ("beskrivning", "ingress"), ("språk",))
