import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { startGeohook } from '../../helpers/cli.ts'
import { KEY } from '../../helpers/deliver.ts'

it('geohook listen stops reading a body without a length when it exceeds --limit', async () => {
  const args = ['listen', '--port', '0', '--limit', '64kb', '--json', '--count', '1']
  const listener = startGeohook(args, { env: { SIGNATURE_KEY: KEY } })
  const [, port = ''] = await listener.printed(/http:\/\/127\.0\.0\.1:(\d+)/)
  const socket = connect(Number(port), '127.0.0.1')
  let answer = ''
  socket.setEncoding('utf8').on('data', (text) => {
    answer += text
  })
  try {
    const headers = ['host: a', `x-service: ${'0'.repeat(64)}`, 'content-type: application/json']
    socket.write(`POST / HTTP/1.1\r\n${headers.join('\r\n')}\r\ntransfer-encoding: chunked\r\n\r\n`)
    // The end of the body never comes, so without the limit the request would wait for the time-out.
    for (let chunk = 0; chunk < 9; chunk++) socket.write(`2000\r\n${'a'.repeat(0x2000)}\r\n`)
    while (!answer.includes('\r\n')) await once(socket, 'data')
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
  } finally {
    socket.destroy()
    await listener.stop()
  }
})
