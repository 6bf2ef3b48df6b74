import type { Socket } from 'node:net'
import type { Flaws } from './flaw.ts'
import { Refusal } from './steps.ts'
import { requireRight } from './verify.ts'

/** Mistakes in the limits of a receiver, in HTTP, and in a proxy in front of the receiver. */
export const CONNECTION_FLAWS: Flaws = {
  'has no limit for the body': {
    finds: ['too-large-length', 'too-large-chunked'],
    timeout: 5_000,
    // The upload ends later than the check's timeout, so that only a limit can end it before.
    change: () => ({ limit: Number.POSITIVE_INFINITY, uploadTime: 12_000 }),
  },
  'closes the connection without a response if the body is too large': {
    finds: ['too-large-response'],
    change: ({ refuse }) => ({
      refuse(res, error) {
        if (error instanceof Refusal && error.status === 413) res.req.socket.destroy()
        else refuse(res, error)
      },
    }),
  },
  'closes the connection without a response if a body in chunks is too large': {
    finds: ['too-large-response'],
    change: ({ refuse }) => ({
      refuse(res, error) {
        const isChunked = res.req.headers['content-length'] === undefined
        if (isChunked && error instanceof Refusal && error.status === 413) res.req.socket.destroy()
        else refuse(res, error)
      },
    }),
  },
  'reads one body at a time': {
    finds: ['stalled-uploads'],
    timeout: 2_000,
    change({ read }) {
      let last: Promise<unknown> = Promise.resolve()
      return {
        read(req) {
          const body = last.then(() => read.call(this, req))
          last = body.catch(() => {})
          return body
        },
      }
    },
  },
  'waits without end for slow uploads': {
    finds: ['slow-upload'],
    change: () => ({ uploadTime: 600_000 }),
  },
  'decompresses before it verifies': {
    finds: ['compressed-bomb'],
    change: ({ read }) => ({
      before(req) {
        if (Number(req.headers['content-length'] ?? 0) > this.limit) throw new Refusal(413, 'too large')
      },
      async read(req) {
        if (req.headers['content-encoding'] !== 'gzip') return read.call(this, req)
        const { createGunzip } = await import('node:zlib')
        let length = 0
        for await (const chunk of req.pipe(createGunzip())) length += chunk.length
        if (length > 50_000_000) req.socket.destroy() // out of memory
        return Buffer.alloc(length)
      },
    }),
  },
  'requires a content-length': {
    finds: ['chunked'],
    change: ({ before }) => ({
      before(req, res) {
        if (req.headers['content-length'] === undefined) throw new Refusal(411, 'content-length is missing')
        before.call(this, req, res)
      },
    }),
  },
  'refuses the header expect': {
    finds: ['expect-continue'],
    change: ({ before }) => ({
      before(req, res) {
        if (req.headers.expect !== undefined) throw new Refusal(417, 'expect')
        before.call(this, req, res)
      },
    }),
  },
  'is behind a proxy that uses the first of two values of content-length': {
    finds: ['length-conflicting'],
    forward: (bytes) =>
      Buffer.from(
        bytes.toString('latin1').replace(/(content-length: \d+\r\n)content-length: \d+\r\n/, '$1'),
        'latin1',
      ),
    change: () => ({}),
  },
  'is behind a proxy that uses the last of two values of content-length': {
    finds: ['length-conflicting'],
    forward: (bytes) =>
      Buffer.from(
        bytes.toString('latin1').replace(/content-length: \d+\r\n(content-length: \d+\r\n)/, '$1'),
        'latin1',
      ),
    change: () => ({}),
  },
  'is behind a proxy that changes the order of requests': {
    finds: ['pipelined'],
    forward(bytes) {
      const second = bytes.lastIndexOf('POST /')
      return Buffer.concat([bytes.subarray(Math.max(0, second)), bytes.subarray(0, Math.max(0, second))])
    },
    change: () => ({}),
  },
  'verifies only the first delivery of a connection': {
    finds: ['keep-alive-after-refusal', 'pipelined'],
    change({ verify, refuse }) {
      const verified = new WeakMap<Socket, boolean>()
      return {
        verify(given, signature) {
          const { socket } = given.req
          const isRight = verified.get(socket)
          if (isRight !== undefined) return requireRight(isRight)
          verified.set(socket, false)
          verify(given, signature)
          verified.set(socket, true)
        },
        refuse(res, error) {
          if (error instanceof Refusal && error.status === 401) res.writeHead(401).end()
          else refuse(res, error)
        },
      }
    },
  },
}
