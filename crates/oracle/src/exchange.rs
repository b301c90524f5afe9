//! What each kind of request is answered with, remembered by its very header.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::Error;
use crate::answer::{self, Ending, Manner, Script};
use crate::log::Recorder;
use crate::oracle::OracleConfig;
use crate::request::Head;
use crate::route::{Defaults, Route};

/// How many different headers are remembered with their answers.
const MAX_EXCHANGES: usize = 1024;
/// Answers with longer bodies are written anew each time.
const MAX_REMEMBERED_BODY_BYTES: usize = 1 << 20;

/// A kind of request, by its very header, and its answers.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) route: Result<Route, String>,
    pub(crate) path: u32,
    pub(crate) request_body_bytes: usize,
    is_head: bool,
    pub(crate) wants_close: bool,
    /// By [`Ending`], written when first needed.
    scripts: [OnceCell<Script>; 3],
}

impl Exchange {
    pub(crate) fn script(&self, ending: Ending) -> Script {
        let write = || match &self.route {
            Ok(route) => answer::script(route, Manner { is_head: self.is_head, ending }),
            Err(reason) => answer::bad_request(reason),
        };
        Rc::clone(self.scripts[ending as usize].get_or_init(write))
    }
}

/// The kinds of requests seen so far, and what the configuration says of new ones.
pub(crate) struct Exchanges {
    known: HashMap<Vec<u8>, Rc<Exchange>>,
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
        Ok(Self { known: HashMap::new(), routes, defaults })
    }

    /// Look up what a header asks for, or read it when it is new.
    pub(crate) fn look_up(&mut self, head: &[u8], recorder: &Recorder) -> Rc<Exchange> {
        if let Some(exchange) = self.known.get(head) {
            return Rc::clone(exchange);
        }
        let exchange = Rc::new(self.read(head, recorder));
        let body_bytes = exchange.route.as_ref().map_or(0, |route| route.body_bytes);
        if body_bytes <= MAX_REMEMBERED_BODY_BYTES && self.known.len() < MAX_EXCHANGES {
            self.known.insert(head.to_vec(), Rc::clone(&exchange));
        }
        exchange
    }

    fn read(&self, head: &[u8], recorder: &Recorder) -> Exchange {
        let read = Head::parse(head);
        let target = read.as_ref().map_or("(unreadable)", |head| head.target.as_str());
        let meaning = self.routes.get(target).map_or(target, String::as_str);
        let route = match &read {
            Ok(_) => Route::parse(meaning, self.defaults).map_err(|error| error.to_string()),
            Err(reason) => Err((*reason).to_owned()),
        };
        Exchange {
            path: recorder.path_number(target),
            request_body_bytes: read.as_ref().map_or(0, |head| head.body_bytes),
            is_head: read.as_ref().is_ok_and(|head| head.wants_no_body),
            wants_close: read.as_ref().is_ok_and(|head| head.wants_close),
            route,
            scripts: Default::default(),
        }
    }
}
