/** One kind of browser, as far as the cases of a person need it; an adapter each for what drives it. */
export interface BrowserDriver {
  /** Somebody with cookies of their own. */
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

/** Of one answer of whatever drives a browser; they are slow where the machine is busy. */
export const ANSWER_LIMIT_MS = 30_000
