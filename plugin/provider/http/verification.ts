/**
 * Options that make a TLS connection verify certificates, even if NODE_TLS_REJECT_UNAUTHORIZED is 0. Every connection
 * of the plugin uses them.
 */
export const VERIFIED = { rejectUnauthorized: true } as const

/** Whether the environment asks Node.js to accept any certificate. */
export function isVerificationSwitchedOff(): boolean {
  return process.env.NODE_TLS_REJECT_UNAUTHORIZED === '0'
}

/** The warning to log if the environment switches certificate verification off. */
export const SWITCHED_OFF = {
  reason: 'is 0, but the plugin still verifies the certificates of identity providers and vendors',
  remedy:
    'Remove it, because everything else in this process accepts any certificate. If the IdP has a private certificate authority, set NODE_EXTRA_CA_CERTS to the file with its chain.',
} as const
