import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { webhook } from 'geohook/node'
import { control, route } from './subjects.ts'

/** The app under test, on `node:http`, which Bun and Deno also support. */
const server = createServer(async (req, res) => {
  const { action, ...subject } = route(req.url ?? '')
  if (action === 'read') for await (const _ of req);
  if (action === 'hook' || action === 'read') await webhook(subject.receiver)(req, res)
  else res.end(control(action, subject))
})
server.listen(0, '127.0.0.1', () => console.log(`port ${(server.address() as AddressInfo).port}`))
