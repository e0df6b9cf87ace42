import { type MeshSetup, setUpMesh } from '../meshcentral/support/mesh-setup.ts'
import { alternate, beside, type Measurement, median } from './measurement.ts'
import { usageOf } from './process-usage.ts'

const MOST_STARTS = 9

/**
 * Measures how long MeshCentral takes until it is listening, and its memory afterwards. Starts with the plugin and with
 * the built-in strategy alternate.
 */
export async function meshStartBench(): Promise<readonly Measurement[]> {
  const options = { domains: { '': { oidc: { groups: { sync: true } } } } }
  const product = await setUpMesh({ ...options, strategy: 'ours' })
  await product.server().stop()
  const peer = await setUpMesh({ ...options, strategy: 'built-in' })
  await peer.server().stop()
  const sizes = new Map<MeshSetup, number[]>([product, peer].map((setup) => [setup, []]))
  // Only one server runs at a time, because both use the same port.
  const startOf = (setup: MeshSetup) => async () => {
    const begun = performance.now()
    await setup.restart()
    const took = performance.now() - begun
    sizes.get(setup)?.push(usageOf(setup.server().pid).residentMegabytes())
    await setup.server().stop()
    return took
  }
  try {
    await startOf(product)()
    await startOf(peer)()
    const took = await alternate(MOST_STARTS, { ours: startOf(product), peer: startOf(peer) })
    const held = { ours: median(sizes.get(product) ?? []), peer: median(sizes.get(peer) ?? []) }
    return [beside('start', 'ms', took, 'built-in', 'less'), beside('start.rss', 'MB', held, 'built-in', 'less')]
  } finally {
    await product.close()
    await peer.close()
  }
}
