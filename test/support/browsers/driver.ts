/** One kind of browser, as far as the cases of a person need it; an adapter each for what drives it. */
export interface BrowserDriver {
  /** A user with separate cookies. */
  person(): Promise<BrowserUser>
  close(): Promise<void>
}

export interface BrowserUser {
  newTab(): Promise<Tab>
  close(): Promise<void>
}

export interface Tab {
  /** Sends the tab there, without waiting for what comes. */
  goTo(address: string): Promise<void>
  /** The value of an expression in the document that the tab shows. Rejects while there is none, as between two. */
  read(expression: string): Promise<unknown>
}

/** Limit for one answer of a browser's driver; they are slow on a busy machine. */
export const ANSWER_LIMIT_MS = 30_000
