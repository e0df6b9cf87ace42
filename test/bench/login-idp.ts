import { type Idp, startIdp } from '../../fixtures/idp/server.ts'
import type { Client } from './login-party.ts'
import { answerOrders } from './program.ts'

/** What the bench tells the provider, one at a time; `open` is answered with the issuer. */
export type IdpOrder =
  | { readonly kind: 'open'; readonly latencyMs: number }
  | { readonly kind: 'client'; readonly client: Client; readonly redirectUri: string }

const open: Idp[] = []

async function carryOut(order: IdpOrder): Promise<object> {
  if (order.kind === 'open') {
    const idp = await startIdp({ latencyMs: order.latencyMs })
    open.push(idp)
    return { issuer: idp.issuer }
  }
  await open.at(-1)?.addClient({ ...order.client, redirect_uris: [order.redirectUri] })
  return {}
}

answerOrders(carryOut)
