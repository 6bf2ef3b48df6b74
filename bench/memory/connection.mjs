import { connect } from 'node:net'
import { readAnswer } from '../http/answer.mjs'

/** A connection to a server on this machine, for one request at a time. */
export function open(port) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.setEncoding('latin1')
    socket.once('error', reject).once('connect', () =>
      resolve({
        /** Resolves when the system has taken all of it. */
        write: (bytes) =>
          new Promise((written, failed) =>
            socket.write(bytes, (error) => (error ? failed(error) : written())),
          ),
        /** The status of the next answer. */
        answer: () => nextAnswer(socket),
        close: () => socket.destroy(),
      }),
    )
  })
}

function nextAnswer(socket) {
  return new Promise((resolve, reject) => {
    const closed = () => reject(new Error('the server has closed the connection without an answer'))
    let text = ''
    const read = (piece) => {
      text += piece
      const status = readAnswer(text)
      if (status === undefined) return
      socket.off('data', read).off('close', closed)
      resolve(status)
    }
    socket.on('data', read).once('close', closed)
  })
}
