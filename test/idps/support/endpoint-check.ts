import { ScriptedBrowser } from '../../../fixtures/browser.ts'

/**
 * Returns a check of whether an address, such as that of discovery, answers 200.
 * @param ca PEM of the authority that signed its certificate
 */
export function answersAt(address: string, ca?: string): () => Promise<boolean> {
  return async () => {
    const browser = new ScriptedBrowser(ca === undefined ? {} : { ca })
    const answer = await browser.step(address).catch(() => undefined)
    browser.close()
    return answer?.status === 200
  }
}
