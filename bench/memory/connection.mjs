import { connect } from 'node:net'
import { readResponse } from '../http/response.mjs'

/** Opens a connection to a local server, for one request at a time. */
export function open(port) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.setEncoding('latin1')
    socket.once('error', reject).once('connect', () =>
      resolve({
        /** Resolves when the bytes are flushed. */
        write: (bytes) =>
          new Promise((written, failed) =>
            socket.write(bytes, (error) => (error ? failed(error) : written())),
          ),
        /** The status of the next response. */
        nextStatus: () => nextStatus(socket),
        close: () => socket.destroy(),
      }),
    )
  })
}

function nextStatus(socket) {
  return new Promise((resolve, reject) => {
    const closed = () => reject(new Error('the server closed the connection without a response'))
    let text = ''
    const read = (chunk) => {
      text += chunk
      const status = readResponse(text)
      if (status === undefined) return
      socket.off('data', read).off('close', closed)
      resolve(status)
    }
    socket.on('data', read).once('close', closed)
  })
}
