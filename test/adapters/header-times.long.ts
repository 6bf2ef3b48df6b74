import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { webhook } from 'geohook/node'
import { describe, expect, it } from 'vitest'
import { BODY, HANDSHAKES, NAMES, receiver, SIGNED } from '../helpers/entry-points.ts'
import { expectLinear } from '../helpers/linear-time.ts'
import { mountServer } from '../helpers/mounts/mounted.ts'

describe('takes linear time for any value of', () => {
  it('a URL, because handshakes with more than 8,000 characters are rejected', async () => {
    const statusOf = async (length: number) =>
      (await HANDSHAKES.receive(`crc_token=a&b=${'c'.repeat(length - '/hook?crc_token=a&b='.length)}`)).status
    expect([await statusOf(8000), await statusOf(8001)]).toEqual([200, 400])
  })

  it('headers on a socket, if the server accepts 128 KB of them', async () => {
    const server = createServer({ maxHeaderSize: 128 * 1024 }, webhook(receiver))
    const { url, close } = await mountServer(server)
    async function post(name: string, value: string): Promise<void> {
      const req = request(url, { method: 'POST', headers: { ...SIGNED, [name]: value }, agent: false })
      req.end(Buffer.from(BODY)) // with a string body, Node would write the headers in UTF-8
      const [res] = await once(req, 'response')
      await once(res.resume(), 'end')
      expect([200, 401, 415]).toContain(res.statusCode)
    }
    try {
      for (const name of NAMES.slice(0, 3)) {
        for (const piece of ['\xa0', '%', ';']) // spaces are not tested, because Node trims them
          await expectLinear(
            (value) => post(name, value),
            (length) => `${piece.repeat(length)}x`,
          )
      }
    } finally {
      await close()
    }
  })
})
