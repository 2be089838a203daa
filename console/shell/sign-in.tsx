import { Anchor, Button, Center, PinInput, Stack, Text, TextInput, Title } from "@mantine/core"
import { useEffect, useState } from "react"
import { requestSignInCode, signInWithCode } from "../api/session.ts"
import { RequestError } from "../api/request-error.ts"
import { ErrorAlert } from "../parts/error-alert.tsx"
import { useAsyncAction } from "../parts/use-async-action.ts"

/** Sign-in with an email address and a mailed code. */
export function SignInView() {
  const [email, setEmail] = useState("")
  const [minutes, setMinutes] = useState<number | null>(null)
  useEffect(() => {
    document.title = "Sign in · Console"
  }, [])
  return (
    <Center component="main" mih="100vh" p="md">
      <Stack w="100%" maw={360} gap="lg">
        <Text fw={600} c="dimmed">
          company-ledger console
        </Text>
        {minutes === null ? (
          <AskEmail email={email} onEmail={setEmail} onAsked={setMinutes} />
        ) : (
          <AskCode email={email} minutes={minutes} onBack={() => setMinutes(null)} />
        )}
      </Stack>
    </Center>
  )
}

interface AskEmailProps {
  readonly email: string
  readonly onEmail: (email: string) => void
  readonly onAsked: (minutes: number) => void
}

function AskEmail({ email, onEmail, onAsked }: AskEmailProps) {
  const { run, isBusy, error } = useAsyncAction(async () =>
    onAsked((await requestSignInCode(email)).minutes),
  )
  return (
    <Stack
      component="form"
      onSubmit={(event: { preventDefault: () => void }) => {
        event.preventDefault()
        void run()
      }}
    >
      <Title order={1}>Sign in</Title>
      <TextInput
        label="Email"
        type="email"
        name="email"
        autoComplete="email"
        required
        withAsterisk={false}
        data-autofocus
        autoFocus
        value={email}
        onChange={(event) => onEmail(event.currentTarget.value)}
      />
      {error === null ? null : <ErrorAlert error={error} />}
      <Button type="submit" loading={isBusy} disabled={!/^[^\s@]+@[^\s@]+$/.test(email.trim())}>
        Email me a code
      </Button>
      <Text size="sm" c="dimmed">
        If you were invited, sign in with the invited address.
      </Text>
    </Stack>
  )
}

interface AskCodeProps {
  readonly email: string
  readonly minutes: number
  readonly onBack: () => void
}

function AskCode({ email, minutes, onBack }: AskCodeProps) {
  const [code, setCode] = useState("")
  const [name, setName] = useState("")
  const { run, isBusy, error } = useAsyncAction(() => signInWithCode(code, name.trim()))
  return (
    <Stack
      component="form"
      onSubmit={(event: { preventDefault: () => void }) => {
        event.preventDefault()
        void run()
      }}
    >
      <Title order={1}>Enter the code</Title>
      <Text size="sm">
        If <b>{email}</b> has an account here, we sent a six-digit code to it. The code works for{" "}
        {minutes} minutes, only in this browser.
      </Text>
      <PinInput
        length={6}
        type="number"
        oneTimeCode
        autoFocus
        ariaLabel="Digit of the code"
        value={code}
        onChange={setCode}
      />
      <TextInput
        label="Your name (for a new invitation)"
        description="Optional. Existing accounts keep their name."
        autoComplete="name"
        maxLength={200}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      {error === null ? null : <ErrorAlert error={error} {...codeAdvice(error)} />}
      <Button type="submit" loading={isBusy} disabled={code.length < 6}>
        Sign in
      </Button>
      <Anchor component="button" type="button" size="sm" onClick={onBack}>
        Use another address or get another code
      </Anchor>
    </Stack>
  )
}

/** Advice for a wrong code; the server does not reveal what is wrong with it. */
function codeAdvice(error: Error) {
  const isWrong = error instanceof RequestError && error.code === "not_allowed"
  return isWrong ? { advice: "Enter the code of the newest mail, or get another code." } : {}
}
