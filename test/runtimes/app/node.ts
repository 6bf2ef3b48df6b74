import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { webhook } from 'geohook/node'
import { runHere, type Use } from '../../changes/contract/subject.ts'
import { administer } from './admin.ts'
import { control, route } from './subjects.ts'

/** The app under test, on `node:http`, which Bun and Deno also support. */
const server = createServer(async (req, res) => {
  if (req.url === '/changes') {
    res.end(JSON.stringify(await runHere((await json(req)) as Use)))
    return
  }
  if (req.url === '/admin') {
    res.end(JSON.stringify(await administer((await json(req)) as string)))
    return
  }
  const { action, ...subject } = route(req.url ?? '')
  if (action === 'read') for await (const _ of req);
  if (action === 'hook' || action === 'read') await webhook(subject.receiver)(req, res)
  else res.end(control(action, subject))
})
server.listen(0, '127.0.0.1', () => console.log(`port ${(server.address() as AddressInfo).port}`))
