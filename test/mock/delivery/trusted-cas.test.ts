import { writeFileSync } from 'node:fs'
import * as tls from 'node:tls'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Certificate, issue, issueCa, serveSecurely } from '../../helpers/certificates.ts'
import { createFolder } from '../../helpers/folder.ts'
import { create } from '../support.ts'
import { CREATED, named } from './support.ts'

let ca: Certificate
let other: Certificate
let server: Certificate
beforeAll(async () => {
  ca = issueCa()
  other = issueCa()
  server = issue({ issuer: ca })
})

describe('TLS sessions', () => {
  /** Delivers with these CAs in turn, and returns for each delivery whether its connection resumed an earlier TLS session. */
  async function deliverWith(...lists: string[][]): Promise<boolean[]> {
    const resumed: boolean[] = []
    const { url } = await serveSecurely(server, (req, res) => {
      resumed.push((req.socket as tls.TLSSocket).isSessionReused())
      res.setHeader('connection', 'close').end()
    })
    let cas: string[] = []
    const service = create(named(url, { a: {} }), { ca: () => cas })
    for (cas of lists) await service.trigger(CREATED)
    return resumed
  }

  it('are resumed while the CAs stay the same', async () => {
    expect(await deliverWith([ca.cert], [ca.cert], [ca.cert])).toEqual([false, true, true])
  })

  it('are not resumed when the CAs have changed', async () => {
    expect(await deliverWith([ca.cert], [ca.cert, other.cert])).toEqual([false, false])
  })
})

// Newer versions of Node read NODE_EXTRA_CA_CERTS themselves, when the process starts.
describe.skipIf('getCACertificates' in tls)('NODE_EXTRA_CA_CERTS', () => {
  /** Delivers with the option ca and a file with this content, or none. Returns the status, or the error. */
  async function deliverWith(content?: string): Promise<unknown> {
    const folder = createFolder()
    onTestFinished(() => folder.remove())
    const file = folder.fileIn('ca.pem')
    if (content) writeFileSync(file, content)
    const before = process.env.NODE_EXTRA_CA_CERTS
    process.env.NODE_EXTRA_CA_CERTS = file
    onTestFinished(() => {
      if (before === undefined) delete process.env.NODE_EXTRA_CA_CERTS
      else process.env.NODE_EXTRA_CA_CERTS = before
    })
    const { url } = await serveSecurely(server)
    const [attempt] = await create(named(url, { a: {} }), { ca: other.cert }).trigger(CREATED)
    return attempt?.error ?? attempt?.answer?.status
  }

  it('is trusted besides the CAs in the option ca', async () => {
    expect(await deliverWith(ca.cert)).toBe(200)
  })

  it('may name a missing file', async () => {
    expect(await deliverWith()).toMatch(/ is not trusted \(UNABLE_TO_/)
  })
})
