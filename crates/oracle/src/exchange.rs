//! What each kind of request is answered with, remembered by its very header.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::Error;
use crate::answer::{self, Ending, Manner, Script};
use crate::behaviour::Behaviour;
use crate::config::OracleConfig;
use crate::log::MAX_KEPT_BODY_BYTES;
use crate::recorder::Recorder;
use crate::request::Head;
use crate::route::{Defaults, Route};

/// How many different headers are remembered, and as many targets with their answers.
const MAX_REMEMBERED: usize = 1024;
/// Chunked answers with longer bodies are written anew each time.
const MAX_REMEMBERED_BODY_BYTES: usize = 1 << 20;

/// A kind of request, by its very header.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) answer: Rc<Answer>,
    pub(crate) body_bytes: usize,
    pub(crate) is_head: bool,
    pub(crate) wants_close: bool,
    /// The session that its cookie names.
    pub(crate) session: Option<u64>,
}

impl Exchange {
    pub(crate) fn script(&self, ending: Ending) -> Script {
        let manner = Manner { is_head: self.is_head, ending };
        let write = || match &self.answer.route {
            Ok(route) => answer::script(route, manner),
            Err(reason) => answer::bad_request(reason),
        };
        let scripts = &self.answer.scripts[usize::from(self.is_head)];
        Rc::clone(scripts[ending as usize].get_or_init(write))
    }
}

/// What a target means, and its answers.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Or why there is none.
    pub(crate) route: Result<Route, String>,
    /// The target's number in the log.
    pub(crate) path: u32,
    /// With and without a body, by [`Ending`]; written when first needed.
    scripts: [[OnceCell<Script>; 3]; 2],
}

impl Answer {
    fn new(route: Result<Route, String>, path: u32) -> Self {
        Self { route, path, scripts: Default::default() }
    }

    /// Whether it waits for no more of a request than its header.
    pub(crate) fn is_early(&self) -> bool {
        self.route.as_ref().is_ok_and(|route| route.behaviour.is_early())
    }

    fn is_small(&self) -> bool {
        self.route.as_ref().map_or(true, |route| {
            route.behaviour != Behaviour::Chunked || route.body_bytes <= MAX_REMEMBERED_BODY_BYTES
        })
    }
}

/// The kinds of requests seen so far, and what the configuration says of new ones.
pub(crate) struct Exchanges {
    by_head: HashMap<Vec<u8>, Rc<Exchange>>,
    by_target: HashMap<String, Rc<Answer>>,
    routes: HashMap<String, String>,
    defaults: Defaults,
}

impl Exchanges {
    pub(crate) fn new(config: &OracleConfig) -> Result<Self, Error> {
        let defaults = Defaults { service: config.service, body_bytes: config.body_bytes };
        for (_, meaning) in &config.routes {
            Route::parse(meaning, defaults)?;
        }
        let routes = config.routes.iter().cloned().collect();
        Ok(Self { by_head: HashMap::new(), by_target: HashMap::new(), routes, defaults })
    }

    /// Look up what a header asks for, or read it when it is new.
    pub(crate) fn look_up(&mut self, head: &[u8], recorder: &Recorder) -> Rc<Exchange> {
        if let Some(exchange) = self.by_head.get(head) {
            return Rc::clone(exchange);
        }
        let exchange = Rc::new(self.read(head, recorder));
        if self.by_head.len() < MAX_REMEMBERED && exchange.answer.is_small() {
            self.by_head.insert(head.to_vec(), Rc::clone(&exchange));
        }
        exchange
    }

    fn read(&mut self, head: &[u8], recorder: &Recorder) -> Exchange {
        match Head::parse(head) {
            Ok(head) => Exchange {
                answer: self.answer(&head, recorder),
                body_bytes: head.body_bytes,
                is_head: head.wants_no_body,
                wants_close: head.wants_close,
                session: head.session,
            },
            Err(reason) => {
                let path = recorder.path_number("(unreadable)");
                let answer = Rc::new(Answer::new(Err(reason.to_owned()), path));
                Exchange {
                    answer,
                    body_bytes: 0,
                    is_head: false,
                    wants_close: false,
                    session: None,
                }
            }
        }
    }

    fn answer(&mut self, head: &Head, recorder: &Recorder) -> Rc<Answer> {
        let target = head.target;
        if let Some(answer) = self.by_target.get(target) {
            return Rc::clone(answer);
        }
        let meaning = self.routes.get(target).map_or(target, String::as_str);
        let route = Route::parse(meaning, self.defaults).map_err(|error| error.to_string());
        let path = recorder.path_number(target);
        let is_echo = route.as_ref().is_ok_and(|route| route.behaviour == Behaviour::Echo);
        if is_echo && head.body_bytes > MAX_KEPT_BODY_BYTES {
            let reason = "the body is too long to be echoed".to_owned();
            return Rc::new(Answer::new(Err(reason), path));
        }
        let answer = Rc::new(Answer::new(route, path));
        if self.by_target.len() < MAX_REMEMBERED && answer.is_small() {
            self.by_target.insert(target.to_owned(), Rc::clone(&answer));
        }
        answer
    }
}
