/**
 * Addressees of the network that are nobody's phone. Passcodes are no secret: whoever registered one of these would
 * read what others send to the service, and acknowledge it in its name. None can be the call of a station: no licence
 * has such a form.
 */
export const RESERVED_CALLS: readonly string[] = [
  // Bulletins and announcements, and the weather services' alerts.
  ...['BLN*', 'NWS*', 'SKY*', 'CWA*', 'BOM*'],
  // Everybody.
  ...['ALL', 'BEACON', 'CQ', 'ID', 'QST', 'TEST'],
  // To e-mail, text messages and Winlink.
  ...['EMAIL*', 'SMS', 'SMSGTE*', 'WLNK*'],
  // Who and where somebody is, what there is near by, and the weather there.
  ...['FIND', 'MPAD', 'QRU', 'WHO-15', 'WHO-IS', 'WHOIS', 'WXBOT', 'WXYO'],
  // Groups, and answers to try a radio with.
  ...['ANSRVR', 'APRSPH', 'CQSRVR', 'DAPNET', 'REPEAT', 'WXSVR*'],
  // Summits and satellites.
  ...['APRS2SOTA', 'APSPOT', 'SATSRV*', 'SOTA'],
]
