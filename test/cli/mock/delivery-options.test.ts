import { describe, expect, it } from 'vitest'
import { geohook, withMock } from '../../helpers/cli.ts'
import { useJsonFiles } from '../../helpers/cli-seed.ts'
import { base64Of, KEY, signatureOf } from '../../helpers/deliver.ts'
import { startTarget, type TargetRequest } from '../../helpers/target.ts'

const jsonFile = useJsonFiles()
const FORM = 'application/x-www-form-urlencoded'

/** Starts a mock with these options, triggers an event on two layers, and returns the requests it sent. */
async function deliveries(args: string[], contentType = 'application/json'): Promise<TargetRequest[]> {
  const target = await startTarget()
  const service = { serviceName: 'Parcels', serviceType: 'FeatureServer' }
  const webhook = { ...service, name: 'edits', hookUrl: target.url, signatureKey: KEY, contentType }
  const seed = jsonFile({ webhooks: [webhook] })
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

describe.concurrent('geohook mock', () => {
  it('signs with --signature-header, --encoding and --prefix', async () => {
    const args = ['--signature-header', 'x-mine', '--encoding', 'base64', '--prefix', 'v1=']
    const request = await first(args)
    expect(headerOf(request, 'x-mine')).toBe(`v1=${base64Of(request.body)}`)
    expect(headerOf(request)).toBeUndefined()
  })

  it('percent-encodes signatures with --percent-encoded, also in the hosted dialect', async () => {
    const request = await first(['--like', 'dialect=hosted', '--encoding', 'hex', '--percent-encoded'])
    expect(headerOf(request, 'x-esrihook-signature')).toBe(`sha256%3d${signatureOf(request.body)}`)
  })

  it('sends a form with a plain payload and the signature in a field', async () => {
    const request = await first(['--form-payload', 'plain', '--signature-in', 'field'], FORM)
    const [, payload = '', signature] = /^payload=(\{.*\})&x-service=(\w+)$/.exec(`${request.body}`) ?? []
    expect(signature).toBe(signatureOf(payload))
  })

  it('applies --concurrency, and members of --like', async () => {
    const args = ['--like', 'service,changesUrl=none,fanOut=layer', '--concurrency', '1']
    const requests = await deliveries(args)
    expect(requests.length).toBe(2)
    for (const { body } of requests) {
      const text = body.toString()
      expect(text).toContain('"changesUrl"')
      expect(text).not.toMatch(/"changesUrl":"[^"]*%/)
    }
    expect((await first(['--like', 'changesUrl=whole'])).body.toString()).toMatch(/"changesUrl":"http%3a/i)
  })

  it.each([
    ['as-sent', KEY],
    ['signed-again', 'parcels2027'],
  ])('with --like enterprise,retries=%s, a retry is signed with %s after an edit', async (retries, key) => {
    let url = ''
    const target = await startTarget(async (res) => {
      if (target.requests.length > 1) return void res.end()
      const edits = { name: 'edits', hookUrl: target.url, changeTypes: '*', signatureKey: 'parcels2027' }
      const body = new URLSearchParams(edits)
      await fetch(`${url}/services/Parcels.FeatureServer/webhooks/w0/edit`, { method: 'POST', body })
      res.writeHead(500).end()
    })
    const service = { serviceName: 'Parcels', serviceType: 'FeatureServer' }
    const seed = jsonFile({
      webhooks: [{ ...service, id: 'w0', name: 'edits', hookUrl: target.url, signatureKey: KEY }],
      settings: { notificationElapsedTimeInSeconds: 0 },
    })
    const args = ['--seed', seed, '--like', `enterprise,window=false,retries=${retries}`]
    await withMock(args, async (mock) => {
      url = mock.url
      expect((await mock.geohook('trigger', 'Parcels.FeatureServer', 'FeaturesCreated')).code).toBe(0)
    })
    await target.close()
    const signatures = target.requests.map((request) => headerOf(request, 'x-esrihook-signature'))
    const [{ body }] = target.requests as [TargetRequest]
    expect(signatures).toEqual([`sha256=${base64Of(body)}`, `sha256=${base64Of(body, key)}`])
  })

  it('rejects an unknown value of retries', async () => {
    const { code, stderr } = await geohook(['mock', '--like', 'retries=never'])
    expect(code).toBe(2)
    expect(stderr).toContain('options.like.retries')
  })
})
