"""Swedish of interactive stories: prompts, words of the rules, and the mock's sentences."""

from ..language import words
from ..storytelling import SceneGrammar, StoryPrompting, Storytelling, StoryWords

_PROMPTING = StoryPrompting(
    telling=(
        "Du berättar en interaktiv berättelse, scen för scen, på svenska. Läsaren regisserar; du skriver "
        "nästa scen och inget annat: ingen rubrik, ingen lista med val, inget ord till läsaren. Följ "
        "anvisningen och håll dig till personerna, platserna och tillstånden nedan: en sak är där "
        "tillstånden säger, och hos den de nämner. Det som inte är känt är inte heller känt för "
        "berättelsens personer. Sluta där läsaren kan bestämma hur det går vidare, och skriv aldrig "
        "läsarens nästa ord."
    ),
    choosing=(
        "Du erbjuder läsaren av en interaktiv berättelse sätt att gå vidare, på svenska. Svara med en JSON- "
        "lista av två till fyra strängar och inget annat. Var och en är en kort mening om det som händer "
        "härnäst, och var och en leder åt sitt håll."
    ),
    checking=(
        "Du kontrollerar vilka händelser i en lista som har inträffat i en interaktiv berättelse. Svara med "
        "ett JSON-objekt och inget annat: varje nummer i listan som nyckel, och true eller false som värde. "
        "En händelse som bara önskas, planeras eller nämns har inte inträffat."
    ),
    summarising=(
        "Du sammanfattar ett kapitel i en interaktiv berättelse på svenska, i högst åtta meningar: vad som "
        "hände, var personer och saker är i slutet, och vad som ännu är öppet. Lägg inte till något som "
        "scenerna inte säger."
    ),
    talking=(
        "Du samtalar med läsaren av en interaktiv berättelse, på svenska, vid sidan av berättelsen. Svara "
        "på läsarens ord i några meningar, utifrån det som är känt om berättelsen. Inget du säger händer i "
        "berättelsen."
    ),
    foundation="Berättelsens grund:",
    cast="Personer, platser och saker:",
    chapters="Tidigare kapitel:",
    chapter="Det här kapitlet:",
    states="Var personer och saker är, när scenerna nedan börjar:",
    window="De senaste scenerna:",
    changes="Vad som har ändrats sedan dess:",
    contradictions="Vad som inte stämmer överens, och inte får bli värre:",
    recalled="Ur tidigare scener:",
    pacing="Var berättelsen står:",
    directive="Läsarens anvisning för nästa scen:",
    milestones="Händelser som kapitlet arbetar mot:",
    question="Läsarens ord, vid sidan av berättelsen:",
    kinds={"person": "person", "place": "plats", "thing": "sak"},
    fields={"place": "är vid", "holder": "är hos", "condition": "är"},
    place="Plats",
    scenario="Läge",
    direction="Riktning",
    look="utseende",
    voice="röst",
    locked="(bestämt av läsaren)",
    scene="Scen {seq}",
    reader="Anvisning",
    pace="Härnäst kommer scen {scene} i berättelsen, scen {part} i det här kapitlet.",
    disagreements={
        "holder": "{entity} var hos {earlier} i scen {seq}, och {later} har den i scen {at}.",
        "destroyed": "{entity} förstördes i scen {seq}, och används i scen {at}.",
        "number": "{entity}: {earlier} i scen {seq}, {later} i scen {at}.",
        "dead": "{entity} var död i scen {seq}, och handlar i scen {at}.",
        "locked": "{entity}: läsaren har bestämt {earlier}, och scen {at} säger {later}.",
    },
    reader_names=words("läsaren läsare användaren spelaren du"),
)

_WORDS = StoryWords(
    determiners=words(
        "den det de en ett denna detta dessa sin sitt sina hans hennes deras min mitt mina någon något "
        "några ingen"
    ),
    indefinite=words("en ett någon något några ingen"),
    person_pronouns=words("han hon hen de jag"),
    recipients=words("honom henne dem hen"),
    thing_pronouns=words("den det dem"),
    own=words("sin sitt sina hans hennes deras min mitt mina dess"),
    within=words(
        "i bland mellan inuti inne inom vid under bakom bredvid på ovanpå intill hos nedanför ovanför "
        "innanför"
    ),
    toward=words("till"),
    away=words("från ur ifrån"),
    part=words("av i"),
    about=words("om av efter för åt kring utan som med"),
    along=words("med"),
    particles=words(
        "nu ännu ifrån högst längst inne uppe upp ner ned undan bort in ut tillbaka fram över dit hit där "
        "noga försiktigt snabbt tyst djupt längst"
    ),
    joining=words("och men sedan medan innan tills när då så eller som vilket att eftersom"),
    endings=(
        "arnas",
        "ernas",
        "ornas",
        "arna",
        "erna",
        "orna",
        "ens",
        "ets",
        "ans",
        "en",
        "et",
        "an",
        "ar",
        "er",
        "or",
        "ns",
        "ts",
        "na",
        "n",
        "t",
        "a",
        "e",
        "s",
    ),
    owner="s",
    reporting=words("att om var hur ifall som vem vad vilket varför när"),
    definite=("en", "et", "an", "n", "t", "na"),
    perfect=words("har hade ha"),
    placing=words(
        "lägger lade la lägga lagt gömmer gömde gömma gömt gömd gömt ställer ställde ställa ställt sätter "
        "satte sätta satt lämnar lämnade lämna lämnat gräver grävde begraver begravde begravt placerar "
        "placerade placerat stoppar stoppade stoppat låser låste låst förvarar förvarade förvarat hänger "
        "hängde hängt flyttar flyttade flyttat bär bar burit tar tog förde för fört släpper släppte "
        "släppt kastar kastade kastat sänker sänkte sänkt skjuter sköt trycker tryckte döljer dolde dolt "
        "lade gömdes lades flyttades ställdes placerades fördes bars"
    ),
    keeping=words("har hade ha haft håller höll hållit äger ägde bär bar behåller behöll behållit"),
    taking=words(
        "tar tog ta tagit får fick fått stjäl stal stulit plockar plockade plockat köper köpte köpt ärver "
        "ärvde ärvt griper grep hämtar hämtade hämtat"
    ),
    giving=words(
        "ger gav ge gett givit räcker räckte räckt lånar lånade lånat säljer sålde sålt skänker skänkte "
        "skänkt överlämnar överlämnade överlämnat överräcker överräckte"
    ),
    going=words(
        "går gick gå gått kommer kom kommit springer sprang rider red reser reste rest vandrar vandrade "
        "vandrat återvänder återvände når nådde anländer anlände klättrar klättrade stiger steg stannar "
        "stannade väntar väntade sitter satt står stod sover sov ror rodde seglar seglade skyndar "
        "skyndade flyr flydde kör körde"
    ),
    destroying=words(
        "förstör förstörde förstördes förstört förstörts bränner brände brändes bränt brinner brann "
        "krossar krossade krossades krossat krossats smälter smälte splittras splittrades"
    ),
    dying=words("dör dog dött omkommer omkom drunknar drunknade"),
    killing=words("dödar dödade dödades mördar mördade mördades"),
    being=words("är var vara ligger låg legat står stod finns fanns hänger hängde vilar vilade"),
    remarking=words(
        "säger sa sade sagt berättar berättade tänker tänkte tror trodde minns mindes drömmer drömde "
        "föreställer nämner nämnde talar talade pratar pratade frågar frågade undrar undrade svär svor "
        "påstår påstod hör hörde beskriver beskrev vill ville önskar önskade söker sökte letar letade "
        "behöver behövde saknar saknade glömmer glömde ritar ritade målar målade tecknar tecknade skriver "
        "skrev läser läste sjunger sjöng lyssnar lyssnade pekar pekade vet visste hoppas hoppades lovar "
        "lovade planerar planerade misstänker misstänkte tappar tappade förlorar förlorade visar visade "
        "ropar ropade tittar tittade"
    ),
    unreal=words(
        "inte ej aldrig ingen inget inga ingenting varken om ifall skulle kunde borde måste kanske nästan "
        "kan ska skall bör"
    ),
    former=words("förr förut tidigare brukade fordom igår"),
    carried=words(
        "hand handen händer händerna ficka fickan fickor väska väskan bälte bältet ärm ärmen rock rocken "
        "famn famnen näve näven handflata handflatan hals halsen pung pungen mantel manteln förkläde "
        "förklädet stövel stöveln"
    ),
    destroyed="förstörd",
    dead="död",
)

_GRAMMAR = SceneGrammar(
    openings=(
        "Ljuset var svagt, och luften luktade regn.",
        "En stund hördes bara vinden.",
        "Det var sent, och varje ljud bar långt.",
        "Morgonen kom långsamt, grå och utan skugga.",
        "En tunn dimma hade kommit under natten.",
    ),
    openings_at=(
        "Ingenting rörde sig omkring {place}.",
        "Ljuset ovanför {place} var svagt, och luften luktade regn.",
        "Dimman drev tunn omkring {place}.",
    ),
    actions=(
        "{person} drog ett långsamt andetag och lyssnade.",
        "{person} vägde varje ord före det första.",
        "{person} sa inte mycket, men missade ingenting.",
        "{person} räknade hjärtslagen fram till nästa ljud.",
        "{person} log som åt ett gammalt skämt.",
        "Något i tystnaden fick {person} att vända sig om.",
    ),
    meetings=(
        "{person} såg på {other}, och ett ögonblick teg båda två.",
        "{other} nickade åt {person}, långsamt, som man nickar åt en gammal skuld.",
        "Mellan {person} och {other} fanns en fråga som ingen ställde.",
    ),
    moods=(
        "Det var ingen brådska, och ändå ingen tid att förlora.",
        "Det hade varit lätt att vända om, och svårare att förklara varför.",
        "Långt borta slog en klocka, och ekot tog god tid på sig.",
        "Skuggorna växte, som om också de lyssnade.",
        "Ingenting var avgjort, men mycket gick inte längre att göra ogjort.",
        "En hund skällde två gånger och ångrade sig sedan.",
    ),
    closings=(
        "Sedan blev det tyst igen, och nästa steg var vems som helst.",
        "Det som skulle komma måste väljas.",
        "Och där, ett andetag långt, väntade allt.",
        "Det var dags att bestämma sig.",
    ),
    article="",
    somebody="Främlingen",
    place_fact="Så mycket var säkert: {thing} fanns vid {value}.",
    holder_fact="Så mycket var säkert: {value} hade {thing}.",
    condition_fact="Så mycket var säkert: {thing} var {value}.",
    recalled_fact="Det som hade hänt var inte glömt: ”{text}”",
    unknown=(
        "Ingen mindes något om {thing}, och ingen låtsades göra det.",
        "Om {thing} visste ingen någonting; det fanns inget att minnas.",
    ),
    unknown_thing="det",
    asking=words("var vart vem vems vilken vilket vilka vad när hur varifrån"),
    counting=(
        r"hur (?:många|mycket|gammal|gammalt|långt|länge|hög|högt|djup|djupt|bred|brett)"
        r"|vilket (?:\w+ )?(?:nummer|antal|år|pris)"
    ),
    seeking=words(
        "hitta hittar hämta hämtar söka söker leta letar finna finner behöva behöver minnas minns "
        "återvända återvänder avslöja avslöjar plocka plockar"
    ),
    choices=(
        "{person} frågar efter sanningen.",
        "{person} väntar i mörkret och lyssnar.",
        "{person} går vidare ensam.",
        "{person} vänder om innan det är för sent.",
        "{person} bryter tystnaden.",
        "{person} följer ljudet.",
    ),
    summary="Kort sagt:",
    aside="Vid sidan av berättelsen, då: {text}",
)

STORYTELLING = Storytelling(_PROMPTING, _WORDS, _GRAMMAR)
