/** The secret keys that all processes sharing a store must have in common. No log or error contains them. */
export interface Keyring {
  /**
   * Returns the value stored under `name`. If there is none, stores and returns `proposal`. If several processes
   * propose at once, all of them get the same value.
   */
  settle(name: string, proposal: string): Promise<string>
}

/** Name of the VAPID keys of Web Push. Their value is JSON: `{ publicKey, privateKey }`. */
export const VAPID_KEYS = 'vapid'
