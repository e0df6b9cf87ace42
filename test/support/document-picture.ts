import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

const ROOT = new URL('../../', import.meta.url)

/**
 * Takes a picture for the documents if `MESH_COMPANION_PICTURES=1` is set. Without it, a test run changes no files.
 *
 * @param path path of the picture, relative to the root of the project
 * @param clip the part of the page, in CSS pixels
 */
export async function takeDocumentPicture(
  page: Page,
  path: string,
  clip: { readonly x: number; readonly y: number; readonly width: number; readonly height: number },
): Promise<void> {
  if (process.env.MESH_COMPANION_PICTURES !== '1') return
  await page.screenshot({ path: fileURLToPath(new URL(path, ROOT)), clip })
}
