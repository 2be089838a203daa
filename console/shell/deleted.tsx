import { Center, Stack, Text, Title } from "@mantine/core"
import { operate } from "../api/operations.ts"
import { asked } from "../api/queries.ts"
import { useMe } from "../api/session.ts"
import { Button } from "@mantine/core"
import { useState } from "react"
import { Fault } from "../parts/fault.tsx"
import { Time } from "../parts/time.tsx"

/** A company that was deleted: an owner can undo that for a time. */
export function Deleted() {
  const { company, companyId, deleteDataAfter, role } = useMe()
  const [error, setError] = useState<Error | null>(null)
  const restore = () => {
    operate(companyId, "company-restore").then(
      () => asked.invalidateQueries(),
      (thrown: unknown) => setError(thrown instanceof Error ? thrown : new Error(String(thrown))),
    )
  }
  return (
    <Center component="main" mih="100vh" p="md">
      <Stack maw={460}>
        <Title order={1}>{company ?? companyId} was deleted</Title>
        <Text size="sm">
          Its keys are refused. Its data is erased on <Time at={deleteDataAfter} isWhole />.{" "}
          {role === "owner" ? "Until then you can undo it." : "Until then an owner can undo it."}
        </Text>
        {error === null ? null : <Fault error={error} />}
        {role === "owner" ? <Button onClick={restore}>Restore the company</Button> : null}
      </Stack>
    </Center>
  )
}
