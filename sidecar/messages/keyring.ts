/** Secret keys that are the same for all processes that share a store. No log line and no error contains them. */
export interface Keyring {
  /**
   * Returns the value stored under `name`. If there is none, stores and returns `proposal`. If several processes
   * propose at once, all of them get the same value.
   */
  settle(name: string, proposal: string): Promise<string>
}

/** Name of the VAPID keys of Web Push in the keyring. Their value is JSON: `{ publicKey, privateKey }`. */
export const VAPID_KEYS = 'vapid'
