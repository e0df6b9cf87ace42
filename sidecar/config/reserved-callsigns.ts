/**
 * Addressees of APRS services, which no station may register: passcodes are not secret, so anyone could read and
 * acknowledge the messages. No licensed callsign has such a form.
 */
export const RESERVED_CALLSIGNS: readonly string[] = [
  // Addressees of bulletins, announcements and weather alerts.
  ...['BLN*', 'NWS*', 'SKY*', 'CWA*', 'BOM*'],
  // Addressees of general calls, beacons and tests.
  ...['ALL', 'BEACON', 'CQ', 'ID', 'QST', 'TEST'],
  // Addressees of gateways to e-mail, text messages and Winlink.
  ...['EMAIL*', 'SMS', 'SMSGTE*', 'WLNK*'],
  // Addressees of services with information about stations, places and weather.
  ...['FIND', 'MPAD', 'QRU', 'WHO-15', 'WHO-IS', 'WHOIS', 'WXBOT', 'WXYO'],
  // Addressees of groups, and of services that answer test messages.
  ...['ANSRVR', 'APRSPH', 'CQSRVR', 'DAPNET', 'REPEAT', 'WXSVR*'],
  // Addressees of services for summits (SOTA) and satellites.
  ...['APRS2SOTA', 'APSPOT', 'SATSRV*', 'SOTA'],
]
