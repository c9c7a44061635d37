"""The server's own sentences about the outcome of an action, in Swedish."""

REASONS = {
    "The action could not be claimed, so it was not run and never will be. Ask again to get a new suggestion.": (
        "Servern kunde inte ta sig an åtgärden; den är inte utförd och blir det inte. Fråga igen för ett nytt förslag."
    ),
    "The action did not begin within {seconds} s and was given up.": (
        "Åtgärden började inte inom {seconds} s och gavs upp."
    ),
    "The server could not check whether the action was still wanted, so it did not begin.": (
        "Servern kunde inte se om åtgärden fortfarande önskades, så den började inte."
    ),
    "The action began but did not finish within {seconds} s.": (
        "Åtgärden började men blev inte klar inom {seconds} s."
    ),
    "The server went down after the action had begun.": "Servern stängdes av sedan åtgärden hade börjat.",
    "The action failed before it began.": "Åtgärden misslyckades innan den började.",
    "The action began and then failed; its outcome is not known.": (
        "Åtgärden började och misslyckades sedan; hur den slutade är inte känt."
    ),
    "The server stopped before the outcome was known.": "Servern stannade innan det var känt hur det slutade.",
    "The caller that began the call did not report its outcome in time.": (
        "Programmet som började åtgärden har inte sagt i tid hur den slutade."
    ),
    "This call needs its user's approval; suggest it first.": (
        "Detta kräver ditt godkännande och ska först föreslås."
    ),
    "The webhook could not be reached (no answer in {seconds} s).": (
        "Webhooken kunde inte nås (inget svar inom {seconds} s)."
    ),
    "The webhook could not be reached ({why}).": "Webhooken kunde inte nås ({why}).",
    "The webhook refused the action (status {status}).": "Webhooken godtog inte åtgärden (status {status}).",
    "The webhook was called but its outcome is not known (no answer in {seconds} s).": (
        "Webhooken anropades, men hur det slutade är inte känt (inget svar inom {seconds} s)."
    ),
    "The webhook was called but its outcome is not known (answer over {bytes} bytes).": (
        "Webhooken anropades, men hur det slutade är inte känt (svaret är över {bytes} byte)."
    ),
    "The webhook was called but its outcome is not known ({why}).": (
        "Webhooken anropades, men hur det slutade är inte känt ({why})."
    ),
    "This server has no function of this name any more.": "Servern har inte längre någon funktion med det namnet.",
    "The arguments do not fit the function.": "Uppgifterna passar inte funktionen.",
    "The function failed; the server's log says why.": "Funktionen misslyckades; varför står i serverns logg.",
    "The function failed, perhaps after it had an effect; the server's log says why.": (
        "Funktionen misslyckades, kanske sedan den hade verkat; varför står i serverns logg."
    ),
    "The function ran, but its result cannot be read.": "Funktionen kördes, men dess resultat går inte att läsa.",
    "The tool failed and did not say why.": "Verktyget misslyckades och sade inte varför.",
    "The tool failed: {reason}": "Verktyget misslyckades: {reason}",
    "The tool was called but what it answered is too long or too deep to be read.": (
        "Verktyget anropades, men svaret är för långt eller för djupt för att läsas."
    ),
    "The tool was called but its outcome is not known: {why}.": (
        "Verktyget anropades, men hur det slutade är inte känt."
    ),
    "The server of this tool is not running now, so nothing was done. Try again later.": (
        "Verktygets server är inte i gång nu, så inget är gjort. Försök igen senare."
    ),
    "The server of this tool no longer offers it, so nothing was done.": (
        "Verktygets server erbjuder det inte längre, så inget är gjort."
    ),
    "The server of this tool refused the call, so nothing was done.": (
        "Verktygets server godtog inte anropet, så inget är gjort."
    ),
    "the item changed meanwhile; open the memory list and decide there": (
        "Det har ändrats under tiden. Öppna minnet och bestäm där."
    ),
    "the item may or may not be remembered; open the memory list to check": (
        "Det är inte känt om det finns i minnet. Öppna minnet och se efter."
    ),
}
"""By the sentences as the server writes them, the more special first; `{...}` stands for a part that differs."""
