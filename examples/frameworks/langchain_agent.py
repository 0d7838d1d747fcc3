"""A LangChain tool-calling loop over your documents: `python langchain_agent.py INDEX_FOLDER QUESTION`.

The model is scripted, so that this runs anywhere; put any chat model of yours that calls tools in its place.
"""

import sys
from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from lexigraph.integrations.langchain import answer_tool

index, question = sys.argv[1:3]
tool = answer_tool(index=index)


class ScriptedModel(GenericFakeChatModel):
    """Calls the tool, then answers with the first source."""

    def bind_tools(self, tools: Any, **_: Any) -> "ScriptedModel":
        return self

    def _generate(self, messages: list[Any], *args: Any, **more: Any) -> Any:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            first = last.artifact[0]
            reply = AIMessage(f"{first.page_content} [{first.metadata['label']}]")
        else:
            call = {"name": tool.name, "args": {"question": last.content}, "id": "call-1", "type": "tool_call"}
            reply = AIMessage("", tool_calls=[call])
        self.messages = iter([reply])
        return super()._generate(messages, *args, **more)


model = ScriptedModel(messages=iter([])).bind_tools([tool])
messages: list[Any] = [HumanMessage(question)]
while True:
    reply = model.invoke(messages)
    messages.append(reply)
    if not reply.tool_calls:
        break
    messages += [tool.invoke(call) for call in reply.tool_calls]
print(reply.content)
