import { makeCertificates } from '../../fixtures/certificate.ts'
import { startApns } from '../../fixtures/push/apns.ts'
import { startFcm } from '../../fixtures/push/fcm.ts'
import { startBuiltSidecar } from './built-sidecar.ts'
import { alone, type Measurement, median } from './measurement.ts'
import { bareUpstream } from './upstream.ts'

const ROUNDS = 5

/**
 * Measures the built sidecar with both gateways: the time until it is listening, and its resident memory once it is
 * logged in to APRS-IS.
 */
export async function sidecarStartBench(): Promise<readonly Measurement[]> {
  const certificates = await makeCertificates()
  const [fcm, apns] = await Promise.all([startFcm({ certificates }), startApns({ certificates })])
  const starts: number[] = []
  const sizes: number[] = []
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      const upstream = await bareUpstream()
      const sidecar = await startBuiltSidecar({
        aprsis: { host: '127.0.0.1', port: upstream.port, callsign: 'N0CALL', passcode: 13023 },
        push: { fcm: fcm.settings, apns: apns.settings },
      })
      await upstream.client
      starts.push(sidecar.startMs)
      sizes.push(sidecar.residentMegabytes())
      await sidecar.close()
      upstream.close()
    }
  } finally {
    await Promise.all([fcm.close(), apns.close()])
  }
  return [alone('sidecar.start', 'ms', median(starts)), alone('sidecar.rss', 'MB', median(sizes))]
}
