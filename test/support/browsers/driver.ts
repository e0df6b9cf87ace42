/** A browser under the control of a test. There is one adapter for each kind of browser. */
export interface BrowserDriver {
  /** Creates a user with separate cookies. */
  person(): Promise<BrowserUser>
  close(): Promise<void>
}

export interface BrowserUser {
  newTab(): Promise<Tab>
  close(): Promise<void>
}

export interface Tab {
  /** Navigates the tab to an address, without waiting for the document. */
  goTo(address: string): Promise<void>
  /**
   * Returns the value of an expression in the tab's document. Rejects while there is no document, during a navigation.
   */
  read(expression: string): Promise<unknown>
}

/** Time limit for one answer of a browser's driver, in milliseconds. Drivers are slow on a busy machine. */
export const ANSWER_LIMIT_MS = 30_000
