"""Headers that filters, mail stores and the last hop add: they tell the label, or differ between copies of one mail.

One list, for the features and for the digest: where the digest counted such a header, a copy of a mail would be another mail,
learnt twice, and could not be taken back.
"""

from __future__ import annotations

import re

_ADDED = re.compile(
    rb"x-(?:spam|rosenblatt|bogosity|status|uid|imap|mozilla|keywords?|virus|av-|antivirus|amavis|crm114|dspam|pyzor|razor|dcc|"
    rb"barracuda|proofpoint|ironport|forefront|ms-exchange|microsoft-antispam|gm-|gmail|google-|evolution|sieve|scanned|mailscanner|"
    rb"from-line|folder|original-to|delivered|apparently-to|envelope|antispam|rspamd|phish|clam|kaspersky|sophos|pmx-|cloudmark|"
    rb"vade|junk|ham-|classif|popfile|text-class|account-key|offlineimap|tuid|received-date|rcpt-to|"
    rb"label|seen$|kmail-|dovecot|sylpheed|claws-|gnus-|vm-|sa-exim|messagesniffer|gbudb|declude|yahoofilter|ui-filter|ui-out-filter|"
    rb"eset|me-|cmae|cnfs-|aol-|mimecast|tm-as-|tmase|pstn-|mxl|assp-|mdav|brightmail|symantec|smx-|hmailserver|mailcleaner|vr-|"
    rb"ms-office365-filter|ms-publictraffic|ms-traffictype|eop|incomingheader|incomingtop|sid-|store-info)"
    rb"|x-.{0,40}(?:spam|virus|mailscanner)|spamdiagnostic|dkim-filter$|keywords$|status$|lines$|content-length$|delivered-to$|"
    rb"envelope-to$|delivery-date$|old-|xref$|arc-"
)


def is_added(name: bytes) -> bool:
    """Whether a header of this name, in lower case, is such a one.

    >>> is_added(b"x-rspamd-server"), is_added(b"x-mailer")
    (True, False)
    """
    return _ADDED.match(name) is not None
