"""Classes of words that speak for or against a secret, in English, German, French and Spanish.

A topic is what a secret belongs to besides the words for one in `cues.py`: «the gate wants …» names
no code. The other classes say how a sentence goes on to a value, or that a value is something else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reverie.memory.secrets.cues import Cue

# What opens with a code, holds money, is an account, has a secret word.
TOPICS = {
    "door": """
        door doors doorman gate gates garage safe locker lock padlock keypad alarm entrance entry building shed cabin
        mailbox elevator barrier lobby suitcase luggage briefcase flat apartment storage warehouse cellar basement portal
        intercom lockbox barn dock hut foyer reception panel pinpad turnstile deadbolt latch
        tür haustür türcode hintertür kellertür tor gartentor garagentor garage schloss zahlenschloss fahrradschloss kofferschloss
        tresor safe schließfach spind schranke parkhaus alarm alarmanlage eingang haus wohnung keller ferienhaus schlüsselkasten
        schlüsselsafe schlüsseltresor tiefgarage aufzug briefkasten vorhängeschloss pforte
        porte portail digicode coffre alarme entrée immeuble cadenas barrière casier boîtier garage interphone bâtiment
        ascenseur valise cave antivol
        barrera cochera grille portillon hublot cabane remise hangar chapelle sacristie sacristía gatehouse bollard cashbox strongbox
        toolbox tillbox kassette geldkassette waffenschrank schrank tresorraum kühlraum hühnerstall stall scheune hütte boot
        wohnwagen wohnmobil camper caravan nevera consigna
        ferienwohnung medikamentenschrank armoire armario siren sirène sirena sirene carpark parkplatz badge turnstiles roulottes
        pharmacie pharmacy nursery crèche guardería kindergarten wachdienst
        puerta portón portal alarma candado taquilla edificio trastero garaje cerradura maleta portero verja buzón caja
    """,
    "card": """
        card visa mastercard amex maestro debit credit atm bank sim phone tablet ipad iphone voicemail
        karte bankkarte kreditkarte ec girokarte handy telefon mailbox carte téléphone banque tarjeta móvil teléfono banco
        chip tracker smartphone watch puk sparkasse guthaben giro bancaire puce portable téléalarme cajero libreta rastreador
        sms parental kindersicherung anrufbeantworter répondeur contestador telly wallet monedero portefeuille
    """,
    "account": """
        user username account login log logon email admin root guest sign credentials
        benutzer benutzername konto nutzer nutzername anmeldung zugang utilisateur compte identifiant connexion connecte session
        usuario cuenta invitado acceso entra conéctate
        website subscription membership webmail authenticator authenticate
        authenticates identifies einloggen eingeloggt anmelden anmeldet seite webseite profil abo connecter connectez espace
        abonnement sitio perfil página entrar plataforma plateforme plattform appli
    """,
    "machine": """
        sudo kinit laptop computer server nas router printer database db mysql postgres redis smtp ftp ssh vpn samba mqtt elastic
        zip unzip 7z archive pdf excel file disk drive netflix spotify hulu disney jira jenkins grafana wiki intranet portal
        bios bitlocker openssl cryptsetup htpasswd rcon requirepass vault bot api staging box demo preview backend mailer imap
        drucker rechner datenbank archiv datei platte festplatte ordinateur serveur imprimante fichier disque base
        ordenador servidor impresora archivo disco licence license lizenz product windows adobe
        registry npm pypi webhook hmac sentry datadog grafana slack discord stripe paypal twilio
        sendgrid shopify wordpress wp mqtt ldap sftp rsync restic borg keepass keychain keystore
        scanner till camera cam doorbell thermostat tv television streaming photos bluetooth pairing booking newsletter payroll
        kamera kasse fernseher heizung drucker scanner buchhaltung lohn sicherung melkcomputer bildschirm
        caméra caisse télé chauffage tablette écran sauvegarde paie logiciel ordi pc poste
        cámara tele televisión calefacción pantalla copia nómina programa
    """,
    "code": "code codes código códigos clavier teclado",
    "network": "network hotspot router internet netz netzwerk réseau red ssid wireless",
    "answer": """
        answer maiden verbal codeword losungswort losung zauberwort codewort kundenkennwort antwort réponse respuesta
        passwordless watchword
    """,
}
# How words lead from a topic to its value, or away from it.
CLASSES = {
    "is": """
        is are was were be being s reads equals goes remains stays ist sind war lautet lauten sei bleibt gleich
        est sont était vaut reste es son era será sea queda
    """,
    "with": "with by using via mit durch per avec par con mediante vía als as como comme",
    "use": """
        use type typing enter entering dial dialing dialling punch punching press pressing key try tap input supply submit say answer
        put told tell
        paste insert feed hand give pass quote read spell write mention swipe dictate
        nimm nehmt nutze nutzt benutze verwende tippe tipp gib drücke drück drückt wähle wähl wählt versuch probier eintippen eingeben
        tippt eingibt eintippt antworte sag sagt
        füttere einfügen eingeben einsetzen reinkopieren kopier tippen gebt geben hinschreiben schreib sagen
        utilise utilisez tape tapez saisis saisissez compose composez entre essaie essayez fais réponds répondez dis
        colle collez copie copiez mets mettez mettre taper saisir écris écrivez donne donnez insère
        usa usad utiliza pon teclea marca pulsa escribe introduce prueba marcar teclear
        responde di
        pega pegas pones poner ponen poned mete metes copia escribes escriba escribid da dale teclead tecleas dices
    """,
    "takes": """
        takes take wants want needs need expects expect requires asks accepts brauchst braucht brauche will verlangt nimmt
        erwartet fragt veut demande attend prend pide quiere necesita acepta starts
    """,
    "changed": """
        changed change set reset rotated switched renewed picked chose chosen made went answered memorised settled
        geändert gesetzt gewählt umgestellt gestellt steht hingeschrieben geschrieben angegeben changé mis choisi remis cambié cambiado puesto elegí elegido
    """,
    "to": "to into auf in à en a zu au",
    "filler": """
        now just still simply currently actually always probably maybe like uh uhm um erm well so okay please new also
        only right happens should might wants jetzt nun einfach immer noch also halt bitte neu neue neuerdings seit heute
        maintenant désormais toujours juste simplement euh donc ahora simplemente siempre pues nueva nuevo
    """,
    "article": "a an the der die das den dem ein eine einen le la les un une l el los las una its it c ça ce",
    "and": "and then plus und dann et puis y e luego or oder ou o",
    "called": "called named name heißt heisst nennt appelle nomme llama nombre titled",
    "counted": """
        port ports line page room section issue ticket year step number no nr order invoice customer version build level
        floor flight tracking isbn chapter article row spot seat track release model ebene platz zimmer raum seite zeile
        nummer auftrag rechnung kunde modell baujahr minute kurs ligne salle chambre numéro commande chapitre étage vol
        línea sala número pedido capítulo planta vuelo modelo about over under than order gpio error exit status type
        version postal zip post postcode promo discount voucher course area dress bar country airport activity code-review
        than under over around roughly etwa ungefähr environ unos
    """,
    "when": """
        at on in since until from after before around by um am im seit bis ab vor nach dès depuis avant après
        desde hasta antes después every each jede jeden alle tous toutes cada
    """,
    "rule": """
        must least minimum minimal maximum should shall needs requires allowed allows accepts expire expires expired valid limit
        policy rule rules length long characters digits letters attempts times days hours minutes seconds weeks months
        muss müssen mindestens höchstens läuft abgelaufen gültig zeichen stellen ziffern versuche tage stunden sekunden minuten
        doit doivent maximum expire caractères chiffres essais jours heures secondes debe deben mínimo caduca caracteres
        cifras intentos días horas segundos costs cost price kostet coûte cuesta weighs wiegt pèse pesa size
        closes closed closing opening hours schließt ferme cierra
    """,
    "absent": """
        forgot forgotten lost wrong incorrect invalid missing expired unknown weak strong vergessen verloren falsch ungültig
        oublié perdu incorrect olvidado incorrecta perdida disabled optional required stored hashed rotated see ask
    """,
    "mine": """
        my our mine ours mein meine meinem meinen unser unsere unserem mon ma mes notre nos mi mis nuestro nuestra his her their
    """,
    "note": """
        remember note write jot remind merk merke notier notiere souviens retiens note apunta recuerda forget keep
        reminder share tell secret private
        secretly confidential geheim vertraulich confidentiel secreto confidencial
    """,
    "unit": """
        digits digit characters chars letters attempts tries times seconds second minutes minute hours hour days day weeks week
        months month years year users people items entries euros euro dollars yen percent stellen ziffern zeichen versuche
        sekunden minuten stunden tage wochen monate jahre chiffres caractères essais secondes minutes jours heures
        cifras caracteres intentos segundos minutos días horas grams kg mm cm km gb mb ms watts points litres liters cars
    """,
    "opens": """
        opens open unlocks unlock gets works logs lets disarms disarm decrypts decrypt arms opened öffnet entsperrt entsperren
        entschlüsselt klappt geht off ouvre ouvrir déverrouille marche abre abrir desbloquea desbloquear
    """,
    "words": "words word phrase wörter mots palabras phrase satz frase passphrase",
    "product": """
        windows ubuntu debian fedora macos ios android python node java postgres mysql redis mongo aes rsa sha tls ssl oauth http
        utf wpa ipv usb gpt claude office acrobat libreoffice chrome firefox github gitlab google okta iphone pixel fritzbox
        docker kubernetes luks argon bcrypt chacha ed x wifi windows iso en din cs covid f s ec t g db
    """,
    "code": """
        function method class variable field column file path env table import return const def endpoint header hash digest
        checksum fingerprint id uuid commit branch test tests parameter argument type schema prefix format
    """,
}
_CLASS_OF: Mapping[str, tuple[str, ...]] = {
    word: tuple(name for name, words in CLASSES.items() if word in words.split())
    for word in {word for words in CLASSES.values() for word in words.split()}
}
_TOPIC_OF = {word: name for name, words in TOPICS.items() for word in words.split()}
_WORD = re.compile(r"[^\W\d_]+")
# What asks for a word («safe word», «first pet»), names digits, and lets in («… gets me into the office»).
_PHRASES = (
    (
        "answer",
        re.compile(
            r"\b(?:(?:secret|safe|code|magic|verbal|family|pass|memorable|security)[- ](?:word|answer|phrase)|word to say|mot (?:secret|magique|de code)"
            r"|palabra (?:secreta|clave|mágica|para)|geheim(?:phrase|wort|satz)|question secrète|question de sécurité|security question|sicherheitsfrage"
            r"|(?:first|favou?rite) (?:pet|car|teacher|school)|maiden name|erstes (?:auto|haustier)|premi(?:er|ère) (?:professeur|animal|voiture|école)"
            r"|primer[oa]? (?:mascota|coche|profesora?|colegio)|pregunta (?:secreta|de seguridad))\b"
        ),
    ),
    (
        "pin",
        re.compile(
            r"\b(?:geheim(?:zahl|code|nummer)|combo|code secret|número secreto|\w{4,}code[sn]?|pass ?code|one-off|one-time|à usage unique)\b"
        ),
    ),
    (
        "unlock",
        re.compile(
            r"\b(?:(?:gets?|lets?) (?:me|you|us|him|her|them) (?:back )?in(?:to)?|get in(?:to \w+)? with|is what opens|reinkommen|kommt? (?:man|ihr|du) (?:mit|rein)"
            r"|on (?:y )?entre avec|se entra con)\b"
        ),
    ),
)


# Words that continue a sentence after a phrase.
GO_ON = frozenset(
    [
        "so",
        "and",
        "but",
        "which",
        "then",
        "please",
        "for",
        "to",
        "if",
        "when",
        "because",
        "since",
        "und",
        "aber",
        "damit",
        "bitte",
        "für",
        "et",
        "mais",
        "pour",
        "donc",
        "y",
        "pero",
        "para",
        "por",
        "that",
        "than",
    ]
)


class Topic(NamedTuple):
    """A word for a secret or for what a secret belongs to, and its place."""

    name: str
    start: int
    end: int


def classes_of(word: str) -> tuple[str, ...]:
    return _CLASS_OF.get(word, ())


def find_topics(lower: str, cues: Sequence[Cue]) -> list[Topic]:
    """All words for secrets and what they belong to, in order; `cues` win where both say something."""
    found = {cue.start: Topic(cue.kind, cue.start, cue.end) for cue in cues}
    for name, phrases in _PHRASES:
        for match in phrases.finditer(lower):
            if name == "answer" or match.start() not in found:
                found[match.start()] = Topic(name, *match.span())
    for match in _WORD.finditer(lower):
        belongs = _TOPIC_OF.get(match[0])
        if belongs and match.start() not in found:
            found[match.start()] = Topic(belongs, *match.span())
    return [found[start] for start in sorted(found)]
