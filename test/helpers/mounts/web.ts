import type { Server } from 'node:http'
import { serve } from '@hono/node-server'
import { type Mount, mountServer } from './mounted.ts'

export const mountFetch: Mount = (receiver, { bodyIsRead } = {}) =>
  mountServer(
    serve({
      async fetch(request) {
        if (bodyIsRead) await request.text()
        return receiver.fetch(request)
      },
      port: 0,
      hostname: '127.0.0.1',
    }) as Server,
  )
