import { Button, Stack, TextInput } from "@mantine/core"
import { useMutation } from "@tanstack/react-query"
import { useState } from "react"
import { answerOf, useApi } from "../api/company.ts"
import { asked } from "../api/queries.ts"
import { useMe } from "../api/session.ts"
import { Fault } from "./fault.tsx"
import { Section } from "./page.tsx"
import { Status } from "./status.tsx"
import { TextView } from "./text-view.tsx"

/** Commits what stands in a box, and pushes its branch. */
export function BoxPush({ boxId }: { readonly boxId: string }) {
  const { companyId } = useMe()
  const api = useApi()
  const [message, setMessage] = useState("")
  const isEmpty = message.trim() === ""
  const pushing = useMutation({
    mutationFn: () =>
      answerOf(
        api.POST("/api/v1/sandboxes/{id}/push", {
          params: { path: { id: boxId } },
          body: { message },
        }),
      ),
    onSettled: () => asked.invalidateQueries({ queryKey: [companyId] }),
  })
  return (
    <Section
      title="Push"
      says="All that changed in the box becomes one commit on its branch, checked as any push is."
    >
      <Stack
        component="form"
        gap="sm"
        maw={640}
        onSubmit={(event: { preventDefault: () => void }) => {
          event.preventDefault()
          if (!isEmpty) pushing.mutate()
        }}
      >
        <TextInput
          label="What changed"
          {...{ value: message, maxLength: 2_000 }}
          onChange={(event) => setMessage(event.currentTarget.value)}
        />
        <Button type="submit" loading={pushing.isPending} disabled={isEmpty} w="fit-content">
          Commit and push
        </Button>
        {pushing.error === null ? null : <Fault error={pushing.error} />}
        {pushing.data === undefined ? null : (
          <Stack gap="sm" role="status">
            <Status tone={pushing.data.pushed ? "good" : "busy"}>
              {pushing.data.pushed ? "Pushed" : "Not pushed"}
            </Status>
            <TextView title="What was said to it" text={pushing.data.output} />
          </Stack>
        )}
      </Stack>
    </Section>
  )
}
