"""English of interactive stories: prompts, words of the rules, and the mock's sentences."""

from ..language import words
from ..storytelling import SceneGrammar, StoryPrompting, Storytelling, StoryWords

_PROMPTING = StoryPrompting(
    telling=(
        "You tell an interactive story, scene by scene, in English. The reader directs; you write the next "
        "scene and nothing else: no heading, no list of choices, no word to the reader. Follow the "
        "directive, and keep to the cast, the places and the states below: a thing is where the states say "
        "it is, and with the person they name. What is not known is not known to the persons of the story "
        "either. End where the reader may decide how it goes on, and never write the reader's next words."
    ),
    choosing=(
        "You offer the reader of an interactive story ways to go on, in English. Answer with a JSON array "
        "of two to four strings and nothing else. Each is one short sentence that says what happens next, "
        "and each leads somewhere else."
    ),
    checking=(
        "You check which events of a list have come about in an interactive story. Answer with a JSON "
        "object and nothing else: each number of the list as a key, and true or false as its value. An "
        "event that is only wished for, planned or spoken of has not come about."
    ),
    summarising=(
        "You sum up a chapter of an interactive story in English, in at most eight sentences: what "
        "happened, where persons and things are at its end, and what is still open. Add nothing that the "
        "scenes do not say."
    ),
    talking=(
        "You talk with the reader of an interactive story, in English, beside the story. Answer the "
        "reader's words in a few sentences, from what is known of the story. Nothing that you say happens "
        "in the story."
    ),
    foundation="The foundation of the story:",
    cast="The cast:",
    chapters="Earlier chapters:",
    chapter="The present chapter:",
    states="Where persons and things are, as of the scenes below:",
    window="The last scenes:",
    changes="What has changed since:",
    contradictions="What does not agree, and must not be made worse:",
    recalled="From earlier scenes:",
    pacing="Where the story stands:",
    directive="The reader directs the next scene:",
    milestones="Events that the chapter works towards:",
    question="The reader's words, beside the story:",
    kinds={"person": "person", "place": "place", "thing": "thing"},
    fields={"place": "is at", "holder": "is with", "condition": "is"},
    place="Place",
    scenario="Situation",
    direction="Direction",
    look="look",
    voice="voice",
    locked="(fixed by the reader)",
    scene="Scene {seq}",
    reader="Directive",
    pace="Scene {scene} of the story comes next, the scene {part} of this chapter.",
    disagreements={
        "holder": "{entity} was with {earlier} in scene {seq}, and {later} has it in scene {at}.",
        "destroyed": "{entity} was destroyed in scene {seq}, and is used in scene {at}.",
        "number": "{entity}: {earlier} in scene {seq}, {later} in scene {at}.",
        "dead": "{entity} was dead in scene {seq}, and acts in scene {at}.",
        "locked": "{entity}: the reader has fixed {earlier}, and scene {at} says {later}.",
    },
    reader_names=words("reader user human player you"),
)

_WORDS = StoryWords(
    determiners=words("the a an this that these those her his their its my your our some any another no"),
    indefinite=words("a an some any another no"),
    person_pronouns=words("he she they i"),
    recipients=words("him her them"),
    thing_pronouns=words("it them"),
    own=words("her his their its my our your"),
    within=words(
        "in aboard between among against alongside inside into within at near under beneath underneath "
        "below behind beside on onto upon above atop by"
    ),
    toward=words("to"),
    away=words("from off out"),
    part=words("of"),
    about=words("of about for after at like without with"),
    along=words("with"),
    particles=words("now still up down back away off over out there safely quickly carefully quietly deep"),
    joining=words("and but then while before after until when so or who which that because"),
    endings=("s",),
    owner="'s",
    definite=(),
    reporting=words("that if whether where how who which what why when"),
    perfect=words("has have had"),
    placing=words(
        "put puts hid hides hide hidden lay lays laid leave leaves left place places placed bury buries "
        "buried drop drops dropped set sets stow stows stowed tuck tucks tucked lock locks locked store "
        "stores stored stash stashes stashed conceal conceals concealed slip slips slipped push pushes "
        "pushed shove shoves shoved hang hangs hung move moves moved shift shifts shifted transfer "
        "transfers transferred return returns returned bring brings brought carry carries carried throw "
        "throws threw thrown sink sinks sank deposit deposits deposited rest rests"
    ),
    keeping=words(
        "has have had hold holds held keep keeps kept wear wears wore own owns owned possess possesses "
        "possessed carries"
    ),
    taking=words(
        "take takes took taken get gets got grab grabs grabbed pick picks picked pocket pockets pocketed "
        "receive receives received steal steals stole stolen accept accepts accepted buy buys bought "
        "inherit inherits inherited seize seizes seized fetch fetches fetched collect collects collected"
    ),
    giving=words(
        "give gives gave given hand hands handed pass passes passed lend lends lent sell sells sold offer "
        "offers offered entrust entrusts entrusted deliver delivers delivered present presents presented"
    ),
    going=words(
        "go goes went gone walk walks walked come comes came arrive arrives arrived run runs ran ride "
        "rides rode enter enters entered reach reaches reached return returns returned travel travels "
        "travelled traveled hurry hurries hurried climb climbs climbed step steps stepped stay stays "
        "stayed wait waits waited sit sits sat stand stands stood sleep sleeps slept row rows rowed sail "
        "sails sailed drive drives drove flee flees fled"
    ),
    destroying=words(
        "destroy destroys destroyed burn burns burned burnt shatter shatters shattered smash smashes "
        "smashed melt melts melted crush crushes crushed"
    ),
    dying=words("die dies died perish perishes perished drown drowns drowned"),
    killing=words("kill kills killed murder murders murdered slay slays slew slain"),
    being=words(
        "is are was were lie lies lay lain stand stands stood rest rests rested remain remains remained "
        "hang hung"
    ),
    remarking=words(
        "say says said tell tells told think thinks thought believe believes believed remember remembers "
        "remembered recall recalls recalled dream dreams dreamed dreamt imagine imagines imagined mention "
        "mentions mentioned speak speaks spoke talk talks talked ask asks asked wonder wonders wondered "
        "claim claims claimed swear swears swore sworn hear hears heard describe describes described want "
        "wants wanted wish wishes wished seek seeks sought search searches searched look looks looked "
        "need needs needed miss misses missed forget forgets forgot draw draws drew drawn paint paints "
        "painted sketch sketches sketched write writes wrote read reads sing sings sang listen listens "
        "listened point points pointed know knows knew hope hopes hoped promise promises promised plan "
        "plans planned suspect suspects suspected fear fears feared lose loses lost show shows showed "
        "call calls called shout shouts shouted"
    ),
    unreal=words(
        "not no never nobody none nothing neither nor if unless whether would could should might may must "
        "perhaps maybe almost nearly didn't doesn't don't wasn't isn't weren't aren't hadn't hasn't "
        "haven't couldn't wouldn't won't can't cannot will shall"
    ),
    former=words("once formerly used ago previously earlier yesterday"),
    carried=words(
        "hand hands pocket pockets bag belt sleeve coat purse arms fist palm satchel neck pouch cloak "
        "apron boot boots"
    ),
    destroyed="destroyed",
    dead="dead",
)

_GRAMMAR = SceneGrammar(
    openings=(
        "The light was low, and the air smelled of rain.",
        "For a while only the wind was heard.",
        "The hour was late, and every sound carried far.",
        "Morning came slowly, grey and without a shadow.",
        "A thin mist had come in during the night.",
    ),
    openings_at=(
        "Nothing stirred around {place}.",
        "The light above {place} was low, and the air smelled of rain.",
        "A thin mist lay around {place}.",
    ),
    actions=(
        "{person} drew a slow breath and listened.",
        "{person} weighed every word before speaking.",
        "{person} said little, but missed nothing.",
        "{person} counted the heartbeats until the next sound.",
        "{person} smiled as if at an old joke.",
        "Something in the silence made {person} turn around.",
    ),
    meetings=(
        "{person} looked at {other}, and for a moment neither spoke.",
        "{other} nodded to {person}, slowly, as one nods to an old debt.",
        "Between {person} and {other} there was a question that neither asked.",
    ),
    moods=(
        "There was no hurry in it, and yet no time to lose.",
        "It would have been easy to turn back, and harder to explain why.",
        "Far away a bell struck, and the echo took its time.",
        "The shadows grew longer, as if they too were listening.",
        "Nothing had been decided, but much could no longer be undone.",
        "A dog barked twice and then thought better of it.",
    ),
    closings=(
        "Then it was quiet again, and the next step was anyone's.",
        "What came next had to be chosen.",
        "And there, for the length of a breath, everything waited.",
        "It was time to decide.",
    ),
    article="the ",
    somebody="The stranger",
    place_fact="This much was certain: {thing} was at {value}.",
    holder_fact="This much was certain: {value} had {thing}.",
    condition_fact="This much was certain: {thing} was {value}.",
    recalled_fact="What had happened was not forgotten: “{text}”",
    unknown=(
        "Nobody remembered anything of {thing}, and nobody pretended to.",
        "Of {thing} nobody knew anything; there was nothing to remember.",
    ),
    unknown_thing="that",
    asking=words("where who whom whose which what when how whereabouts"),
    counting=(
        r"how (?:many|much|old|far|long|high|deep|tall|wide)"
        r"|(?:what|which) (?:\w+ )?(?:number|year|hour|price|age)"
    ),
    seeking=words(
        "find finds fetch fetches get gets seek seeks search searches look looks retrieve retrieves "
        "recover recovers need needs remember remembers recall recalls collect collects return returns "
        "reveal reveals"
    ),
    choices=(
        "{person} asks for the truth.",
        "{person} waits in the dark and listens.",
        "{person} goes on alone.",
        "{person} turns back before it is too late.",
        "{person} breaks the silence.",
        "{person} follows the sound.",
    ),
    summary="In short:",
    aside="Beside the story, then: {text}",
)

STORYTELLING = Storytelling(_PROMPTING, _WORDS, _GRAMMAR)
