export interface TokenAnswer {
  readonly access_token: string
  readonly token_type: string
}

/**
 * Returns a `fetch` for the host that records the answers of token endpoints, so that a test can use the tokens itself.
 */
export function listenToTokens(): {
  readonly fetch: typeof globalThis.fetch
  readonly answers: readonly TokenAnswer[]
} {
  const answers: TokenAnswer[] = []
  return {
    answers,
    async fetch(input, init) {
      const answer = await globalThis.fetch(input, init)
      const body = (await answer
        .clone()
        .json()
        .catch(() => ({}))) as Partial<TokenAnswer>
      if (body.access_token !== undefined && body.token_type !== undefined) answers.push(body as TokenAnswer)
      return answer
    },
  }
}
