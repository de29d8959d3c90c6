"""Word lists without accents: negations, generalisations, function words, openings."""

from __future__ import annotations

from functools import cache

from reverie.text.word_classes import negations


def _bag(words: str) -> frozenset[str]:
    return frozenset(words.split())


@cache
def denying() -> frozenset[str]:
    """Words that negate a statement."""
    return negations() | {"against", "instead", "ne"}


ALWAYS = _bag(
    """always every everything everywhere whenever each all any must never forever
    immer jede jeder jedes alle stets nie niemals toujours chaque jamais tout tous desormais
    siempre cada nunca todo todos"""
)
SMALL = _bag(
    """a an the is are was were be been being am to of in on at for by with as and or that this these
    those it its they their them he she his her i my me we our us you your will would should shall can
    could do does did has have had if then than so but from into about when which who what how why
    user users person people agent assistant wants want prefers likes asked said says apply applies
    please also very just really s t ll re ve d m
    der die das den dem ein eine einen und oder ist sind zu im am auf mit fur von dass wir ich du bitte
    le la les un une des de et ou est sont que qu je tu nous vous il elle
    el los las una y o es son con para por lo se mi"""
)
# Words in which two texts about one thing may differ; negation is compared separately.
IDLE = _bag(
    """the a an is are was in on at to of for by and from now please we i it our my has have been be will
    that this instead always never not don't do"""
)
# Acknowledgements at the start of a message.
ACKNOWLEDGES = _bag(
    """thanks thank you thx ok okay great perfect good nice cool merged done works work that this was is quick fine looks look very
    much so a lot hi hello hey yes no right got it i see lovely wonderful fast awesome agreed exactly well point catch idea question sure go ahead haha
    danke super passt gut hallo prima genau das ist sehr ja nein merci parfait bonjour salut très bien oui non
    gracias perfecto hola vale genial bien muy sí"""
)
FRAME_NAMES = _bag("i user the why how this when always never person")
# Common words that begin claims and are not names.
OPENINGS = _bag(
    """add added adds adding agree agreed allow answer answers apply archive assume avoid avoids begin backup backups ban bring bug bugs build
    builds call cases change changes check checks choose clean close code comment comments commit commits company config configuration
    confirm convert copy create customer customers dashboard dashboards data database deadline decided decision decisions default delete deploy
    deploys deployment deployments design details developer developers diff diffs discuss docs document documentation documents
    drop email emails enable endpoint endpoints ensure environment error errors every everyone exclude expects explain explanation
    explanations export favourite favorite feature features feedback file files find fix flag follow format freeze function functions give
    go goes handle hates host hosts ignore implement import imports include insists install instead integration issue issues items
    job jobs keep keeps knows language launch lead leave let library likes limit link list lives log logging logs long look main
    maintain make makes manager many meeting meetings memory merge merges message messages metrics migration migrations mock mocks
    module modules monitoring move must name names needs new nobody note notes office old only open order other output owner
    package packages page pages password people per pin plan plans platform policy port ports practice prefer preference
    preferences preferred prefers prepare present price prices problem process production project projects propose provide pull push
    put python query questions quote raise read ready record refer reference refuse release releases rely remember remove rename
    replace replies reply report reports repository request requests require required requires respond responses rest return
    review reviewers reviews role rule rules run runs save schedule schema script scripts secrets section security see
    send server servers service services session sessions set setup several share ship short should show signed since
    skip someone source speak speaks split staging standard start started starts state stay stick stop storage store style submit
    summary support switch system table target task tasks team tell test testing tests text think three tickets time timezone title
    tool tools track translate treat trust try turn two type types unit update updates upgrade use used uses using value values
    verify version versions wait wants warn watch week weekly work working works worked write writes writing written
    answers backend frontend branch branches cache client clients container containers contract dark data date dates day days
    diagram emoji english examples first formal french friday german greeting internal invoice invoices keys lint linter lines local
    measure minutes money monday monthly mornings naming nightly numbers pager paths phase pictures points pronouns
    quarterly recipes results retries sentences shell spaces spanish sprint squash strict tabs thursday tuesday typing
    verbose vpn wednesday saturday sunday wiki now future forward jetzt sofort künftig kunftig zukunft maintenant désormais desormais
    ahora adelante partir
    ab ablage alle allein anfragen antworte antworten arbeitet aufgaben befehle benutze benutzer besprechung bitte bug commits daten
    datenbank deploys dokumentation entscheidung fehler frage fragen freitag gespeichert kommentare kunde kunden kurze lange lege
    lösche losche mache montag nachts name nutze person projekt schreibe server sprache tests termin verwende vorzug werkzeuge
    ajoute assistant base clients code commits decision demande donnees ecris equipe evite fais fichiers lance mets
    preference prefere projet reponds reponses serveur tests travaille utilise utilisateur
    ajusta anade base cliente codigo datos decision ejecuta equipo escribe evita haz preferencia prefiere pregunta proyecto
    respuestas responde servidor trabaja usa usuario"""
)
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
