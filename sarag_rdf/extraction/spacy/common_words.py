"""Words that technical texts write with a capital letter without naming something."""

from __future__ import annotations

LITERALS = frozenset(
    "array bool boolean caution default dict false file files fixme float id important info int "
    "integer key list n/a name nan no none note notes null object ok optional path paths required "
    "str string strings tbd tip todo true type url value warning yes".split()
)
"""Literals, kinds of values and words for remarks."""

VERBS = frozenset(
    "add adds allow allows apply build builds call check choose clone configure contains convert "
    "copy create creates define delete deploy disable disables download draw draws edit enable "
    "enables encrypt ensure execute export exports extend extends feel fix fixed follow generate "
    "generates get gets handle handles implement implements import improve improved include "
    "includes initialise initialize install installs keep let list load loads log look make makes "
    "manage manages migrate migrating modify open override parse parses pass plot print provide "
    "provides publish pull push put query read reads remove removed removes rename render replace "
    "report reports requires restart return returns run running runs save search see select send "
    "serve set sets show shows skip sort specify start starts stop submit support supported "
    "supports switch test tests try turn unpack update updated updates upgrade upload use used "
    "uses using verify view visit wait want warn watch welcome work works write writes".split()
)
"""Verbs at the beginning of sentences, headings and entries of lists."""

NOUNS = frozenset(
    "about abstract acknowledgements acknowledgments adapter additional advanced alternative "
    "alternatives analysis api apis appendix applications architecture arguments articles "
    "assembly authentication author authors availability backend background badge basic basics "
    "behaviour benchmark benchmarks best blog breaking browser bug bugs caching caveats change "
    "changelog changes channel chat citation citations class classes client code column columns "
    "command commands common communication community company compatibility compilation components "
    "concepts conclusion conduct config configuration configurations connection contact contents "
    "context contribute contributing contribution contributions contributor contributors "
    "copyright core coverage credits custom data debugging decorators defaults demo dependencies "
    "dependency deployment deprecated deprecation description design developer developers "
    "development directives directory discussion discussions docs documentation documents "
    "download downloads end entry environment environments error errors example examples "
    "exceptions export exports extension extensions faq feature features feedback field fields "
    "filter filtering filters first flags format formats formatting forum from full function "
    "functions further general getting guide guidelines guides headers help history home homepage "
    "how image images implementation in index information initialisation initialization input "
    "inputs installation installing instructions integration integrations interface interfaces "
    "internals introduction issue issues kinds latest library licence license licenses licensing "
    "limitations limits line links literals location locations log logging login logs main "
    "maintainer maintainers maintenance manual map memory menu merged metadata method methods "
    "metrics middleware migration minimal minimum miscellaneous mode models module modules "
    "motivation name names naming new news next notes notice object objects of on operations "
    "operators option options order other output outputs overview package packages page parameter "
    "parameters parser parsers parsing party performance pipeline platforms plugin plugins policy "
    "post posts prerequisites preset presets privacy problem process processing production "
    "profile profiles project projects properties property protocol protocols public purpose "
    "quality question questions quick quickstart raises rationale readme recommended reference "
    "references registry related release releases releasing report reporting requests "
    "requirements resource resources response results roadmap routes routing rules sample samples "
    "schema script scripts section sections security server servers service settings setup "
    "severity site sites software source sources specification sponsor sponsors stable standard "
    "start started starting status step steps storage structure style summary supported syntax "
    "system table technical template templates terms testing text thanks the third time to tools "
    "translation troubleshooting tutorial tutorials types typing up upgrading usage user users "
    "utilities values variable variables version versioning versions video warranty what why wiki "
    "with workflow workflows your".split()
)
"""Words of headings."""

ADVERBS = frozenset(
    "additionally also alternatively automatically currently finally furthermore generally "
    "however instead internally manually note optionally otherwise please pre previously "
    "similarly simply since then typically unlike usually".split()
)
"""Adverbs and the like at the beginning of sentences."""

COMMON = LITERALS | VERBS | NOUNS | ADVERBS
