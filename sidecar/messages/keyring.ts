/** Keys that all processes which share the store must have alike. They are secret: in no log, and in no error. */
export interface Keyring {
  /**
   * What is kept under `name`: `proposal`, kept from now on, where nothing was. Of several that propose at once, one is
   * heard by all.
   */
  settle(name: string, proposal: string): Promise<string>
}

/** The keys of Web Push, in JSON: `{ publicKey, privateKey }`. */
export const VAPID_KEYS = 'vapid'
