import { expect } from 'chai'
import type { SecretFileContent } from '../../../../plugin/config/credentials/client-secret-file.ts'
import { ClientSecret } from '../../../../plugin/provider/authentication/client-secret.ts'

describe('client secret in a file', () => {
  const setUp = () => {
    const state = { now: 1_000_000, content: { kind: 'secret', secret: 'old' } as SecretFileContent, reads: 0 }
    const events: string[] = []
    const source = {
      read: () => {
        state.reads += 1
        return state.content
      },
      onReloaded: () => events.push('reloaded'),
      onUnusable: (_: string, { reason }: { readonly reason: string }) => events.push(reason),
    }
    return { state, events, secret: new ClientSecret('/a', 'old', source, () => state.now) }
  }
  const holding = (secret: string): SecretFileContent => ({ kind: 'secret', secret })

  // Shows: plugin 4.3.
  it('reads the secret file at most once a second, unless the clock was set back', () => {
    const { state, secret } = setUp()
    const readsAfter = (ms: number) => {
      state.now += ms
      secret.reload()
      return state.reads
    }
    expect([0, 0, 999, 1, 500, -5_000, 10].map(readsAfter)).to.deep.equal([1, 1, 1, 2, 2, 3, 3])
  })

  it('logs once each time the secret file becomes unusable, and logs a changed secret', () => {
    const { state, events, secret } = setUp()
    const broken: SecretFileContent = { kind: 'unusable', reason: 'names an empty file', remedy: '' }
    for (const content of [holding('old'), broken, broken, holding('old'), broken, holding('new'), holding('new')]) {
      state.content = content
      state.now += 1_000
      secret.reload()
    }
    expect(events).to.deep.equal(['names an empty file', 'names an empty file', 'reloaded'])
    expect(secret.current).to.equal('new')
  })

  it('repeats a failed request once, and only if the client secret file has changed', async () => {
    const { state, secret } = setUp()
    const usedSecrets: string[] = []
    const fail = async () => {
      usedSecrets.push(secret.current)
      throw new Error(secret.current)
    }
    const failure = () => secret.withRetry(fail).catch((error: Error) => error.message)
    expect(await failure()).to.equal('old')
    state.now += 1_000
    state.content = holding('new')
    expect(await failure()).to.equal('new')
    expect(usedSecrets).to.deep.equal(['old', 'old', 'new'])
  })

  it('uses the secret that another request has just read, without reading it again', async () => {
    const { state, secret } = setUp()
    state.content = holding('new')
    const first = secret.current
    const result = await secret.withRetry(async () => {
      if (secret.current !== first) return secret.current
      secret.reload()
      throw new Error('refused')
    })
    expect(result).to.equal('new')
    expect(state.reads).to.equal(1)
  })
})
