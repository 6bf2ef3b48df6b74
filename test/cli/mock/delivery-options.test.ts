import { describe, expect, it } from 'vitest'
import { createFolder } from '../../helpers/cli.ts'
import { useGeohook } from '../../helpers/cli-host.ts'
import { base64Of, KEY, signatureOf } from '../../helpers/deliver.ts'
import { startTarget, type TargetRequest } from '../../helpers/target.ts'

const { withMock } = useGeohook()

const folder = createFolder()
const FORM = 'application/x-www-form-urlencoded'
let seeds = 0

/** What arrives when something happens on two layers, of a mock with these options. */
async function deliveries(args: string[], contentType = 'application/json'): Promise<TargetRequest[]> {
  const target = await startTarget()
  const service = { serviceName: 'Parcels', serviceType: 'FeatureServer' }
  const webhook = { ...service, name: 'edits', hookUrl: target.url, signatureKey: KEY, contentType }
  const seed = folder.file(`${++seeds}.json`, JSON.stringify({ webhooks: [webhook] }))
  try {
    await withMock(['--seed', seed, ...args], async ({ geohook }) => {
      const layers = ['--layer', '1', '--layer', '2']
      expect((await geohook('trigger', 'Parcels.FeatureServer', 'FeaturesCreated', ...layers)).code).toBe(0)
    })
  } finally {
    await target.close()
  }
  return target.requests
}

const first = async (args: string[], contentType?: string): Promise<TargetRequest> =>
  (await deliveries(args, contentType))[0] as TargetRequest

const headerOf = ({ headers }: TargetRequest, name = 'x-service'): unknown => headers[name]

describe.concurrent('geohook mock writes deliveries', () => {
  it('with the signature in the header, the encoding and the prefix that it is told', async () => {
    const args = ['--signature-header', 'x-mine', '--encoding', 'base64', '--prefix', 'v1=']
    const request = await first(args)
    expect(headerOf(request, 'x-mine')).toBe(`v1=${base64Of(request.body)}`)
    expect(headerOf(request)).toBeUndefined()
  })

  it('as hosted services do, but for what it is told', async () => {
    const request = await first(['--dialect', 'hosted', '--encoding', 'hex'])
    expect(headerOf(request, 'x-esrihook-signature')).toBe(`sha256=${signatureOf(request.body)}`)
  })

  it('percent-encoded with --percent-encoded', async () => {
    const request = await first(['--prefix', 'sha256=', '--percent-encoded'])
    expect(headerOf(request)).toBe(`sha256%3d${signatureOf(request.body)}`)
  })

  it('as a form with a plain payload, signed in a field', async () => {
    const request = await first(['--form-payload', 'plain', '--signature-in', 'field'], FORM)
    const [, payload = '', signature] = /^payload=(\{.*\})&x-service=(\w+)$/.exec(`${request.body}`) ?? []
    expect(signature).toBe(signatureOf(payload))
  })

  it('with changesUrl as it is told, one for each layer, one at a time', async () => {
    const args = ['--changes-url', 'none', '--fan-out', 'layer', '--concurrency', '1']
    const requests = await deliveries(args)
    expect(requests.length).toBe(2)
    for (const { body } of requests) {
      const text = body.toString()
      expect(text).toContain('"changesUrl"')
      expect(text).not.toMatch(/"changesUrl":"[^"]*%/)
    }
    expect((await first(['--changes-url', 'whole'])).body.toString()).toMatch(/"changesUrl":"https%3a/i)
  })
})
