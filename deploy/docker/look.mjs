// Requests a path of this container's server, and exits with 1 if the answer is not 200. Docker limits how long it may
// take.
const [, , path = "/readyz"] = process.argv
const answer = await fetch(`http://127.0.0.1:${process.env["PORT"] ?? 3000}${path}`)
process.stdout.write(await answer.text())
process.exitCode = answer.ok ? 0 : 1
