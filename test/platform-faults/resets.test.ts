import { request } from 'node:http'
import { expect, it } from 'vitest'
import { uniquePayload } from '../contract/inbox/fixture.ts'
import { JSON_TYPE, signatureOf } from '../helpers/deliver.ts'
import { startReceiver } from './receiver-process.ts'

it('handlers finish and the receiver keeps responding if clients reset their connections before the response', async () => {
  const receiver = await startReceiver()
  const requests = Array.from({ length: 20 }, () => {
    const body = uniquePayload('Wait')
    const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body) }
    const req = request(receiver.url, { method: 'POST', headers, agent: false }).on('error', () => {})
    return { number: JSON.parse(body).number, req: req.end(body) }
  })
  for (const { number } of requests) await receiver.app.printed(new RegExp(`begun ${number} `))
  for (const { req } of requests) req.socket?.resetAndDestroy()
  receiver.command('handle') // their responses are now written to connections that are reset
  for (const { number } of requests) await receiver.app.printed(new RegExp(`handled ${number}\\.`))
  expect((await receiver.post(await receiver.open())).status).toBe(200)
  expect(receiver.app.stderr).toBe('')
})
