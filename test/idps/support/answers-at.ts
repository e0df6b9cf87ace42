import { ScriptedBrowser } from '../../../fixtures/browser.ts'

/**
 * Whether an address is answered with 200, such as that of discovery. @param ca PEM of the authority of its certificate
 */
export function answersAt(address: string, ca?: string): () => Promise<boolean> {
  return async () => {
    const browser = new ScriptedBrowser(ca === undefined ? {} : { ca })
    const answer = await browser.step(address).catch(() => undefined)
    browser.close()
    return answer?.status === 200
  }
}
